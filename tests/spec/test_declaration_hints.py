"""Hints at declarations of inputs: element types that operations take, and ranges of integers."""

from __future__ import annotations

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.spec.test_value_hints import problem_of

EMBEDDING = "embedding: {num_embeddings: 100, embedding_dim: 8}"
BLOCK = "blocks: {b: {layers: [{embedding: {num_embeddings: 9, embedding_dim: 4}}]}}\n"


IDS = "dtype: int64, range: [0, 100]"
OF_9 = "dtype: int64, range: [0, 9]"


@pytest.mark.parametrize(
    ("declared", "rest", "hinted"),
    [
        ("[1, 8]", f"layers: [{EMBEDDING}]", f"{{shape: [1, 8], {IDS}}}"),
        ("[1, 8]", "layers: [one_hot: 9]", f"{{shape: [1, 8], {OF_9}}}"),
        ("{shape: [1, 8], about: words}", f"layers: [{EMBEDDING}]", f"{{shape: [1, 8], about: words, {IDS}}}"),
        ("[1, 8]", f"{BLOCK}layers: [b]", f"{{shape: [1, 8], {OF_9}}}"),
        ("[1, 8]", f"{BLOCK}layers: [{{name: s, sequence: [b]}}]", f"{{shape: [1, 8], {OF_9}}}"),
        ("[rows, 8]", f"dims: {{rows: 4}}\nlayers: [{EMBEDDING}]", f"{{shape: [rows, 8], {IDS}}}"),
        ("[4, 9]", "layers: [{from: [y, x], gather: {axis: 1}}]", f"{{shape: [4, 9], {OF_9}}}"),
    ],
)
def test_the_declaration_that_an_operation_takes(declared: str, rest: str, hinted: str) -> None:
    text = f"inputs: {{x: {declared}, y: [4, 9]}}\n{rest}\n"
    assert problem_of(text).hint == f"declare the input as `x: {hinted}`"
    network = netcalc.loads("netcalc: 1\n" + text.replace(declared, hinted, 1))
    assert network.verify().ok
    network.run()


def test_sizes_with_expressions_are_quoted() -> None:
    found = problem_of(f"vars: {{n: 4}}\ninputs: {{x: [2, '${{2 * n}}']}}\nlayers: [{EMBEDDING}]\n")
    assert found.hint == "declare the input as `x: {shape: [2, '${2 * n}'], dtype: 'int64', range: [0, 100]}`"


def test_no_declaration_changes_a_declared_type_or_a_value_inside() -> None:
    assert problem_of(f"inputs: {{x: [1, 8]}}\nlayers: [exp, {EMBEDDING}]\n").hint is None
    assert problem_of("inputs: {x: {shape: [1, 8], dtype: int64}}\nlayers: [linear: 3]\n").hint is None


def test_the_range_of_ids_follows_from_the_table_that_they_index() -> None:
    text = f"netcalc: 1\ninputs: {{x: {{shape: [1, 8], dtype: int64}}}}\nlayers: [{EMBEDDING}]\n"
    network = netcalc.loads(text)
    (spec,) = network.program.inputs
    assert (spec.low, spec.high) == (0, 100)
    network.run()


def test_a_run_shows_the_declaration_of_integers_without_a_range() -> None:
    head = "netcalc: 1\ninputs: {x: {shape: [1, 8], dtype: int64}}\n"
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads(head + "layers: [add: 3]\n").run()
    hint = caught.value.diagnostics[0].hint or ""
    declaration = hint.partition("`")[2].partition("`")[0]
    assert declaration == "x: {shape: [1, 8], dtype: int64, range: [0, 10]}"
    netcalc.loads(f"netcalc: 1\ninputs: {{{declaration}}}\nlayers: [add: 3]\n").run()
