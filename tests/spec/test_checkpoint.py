"""Entries under ``checkpoint``: what they say, and what is wrong with them."""

from __future__ import annotations

import pytest

from netcalc.analysis.walk import parameters
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import CheckpointLocation, Program
from netcalc.spec import elaborate
from netcalc.spec.library import load_text

LINEAR = """
netcalc: 1
inputs: {x: [2, 6]}
vars: {n: 3}
layers:
  - {name: stages, repeat: 2, sequence: [{name: conv1, linear: {out: 6}}, {name: conv2, linear: {out: 6}}]}
"""


def built(checkpoint: str, spec: str = LINEAR) -> Program:
    return elaborate(load_text(f"{spec}checkpoint: {checkpoint}"))


def first_places(net: Program) -> dict[str, CheckpointLocation]:
    """Return the first declared place of each parameter that has one."""
    return {p.path: p.entries[0].alternatives[0] for p in parameters(net) if p.entries}


def the_error(checkpoint: str) -> Diagnostic:
    with pytest.raises(NetcalcError) as caught:
        built(checkpoint)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_patterns_give_numbers_and_text() -> None:
    found = first_places(built('{"stages.{i}.conv{k}.*": "layer${i + 1}.${n * k}.*"}'))
    assert found["stages.0.conv1.weight"].names == ("layer1.3.weight",)
    assert found["stages.1.conv2.bias"].names == ("layer2.6.bias",)


def test_a_number_that_occurs_twice_is_the_same() -> None:
    assert list(first_places(built('{"stages.{i}.conv{i}.weight": "a${i}"}'))) == ["stages.1.conv1.weight"]


def test_entries_for_single_paths_precede_patterns_which_apply_in_order() -> None:
    net = built('{"*.weight": "first.*", "*": "second.*", stages.0.conv1.weight: exact}')
    names = {path: location.names for path, location in first_places(net).items()}
    assert names["stages.0.conv1.weight"] == ("exact",)
    assert names["stages.1.conv1.weight"] == ("first.stages.1.conv1",)
    assert names["stages.1.conv1.bias"] == ("second.stages.1.conv1.bias",)


def test_entries_of_the_spec_precede_those_of_its_blocks() -> None:
    net = built(
        "{b.fc.weight: outer, b.fc.bias: {optional: true}}",
        """
netcalc: 1
inputs: {x: [2, 6]}
blocks:
  inner: {layers: [{name: fc, linear: 6}], checkpoint: {fc.weight: mine, fc.bias: /top}}
layers: [{name: b, inner: {}}]
""",
    )
    weight, bias = parameters(net)
    assert [a.names for e in weight.entries for a in e.alternatives] == [("outer",), ("b.mine",)]
    assert [(e.alternatives[0].names, e.optional) for e in bias.entries] == [(("b.fc.bias",), True), (("top",), False)]


def test_children_add_patterns_to_ignore_and_replace_entries() -> None:
    parent = load_text("netcalc: 1\nextends: gpt2\ncheckpoint: {ignore: ['*.a'], x: y}")
    assert "*.a" in parent.document.checkpoint.ignore
    child = elaborate(load_text("netcalc: 1\nextends: gpt2\ncheckpoint: {ignore: ['*.a']}"))
    assert child.checkpoint_ignore[-1] == "*.a"


@pytest.mark.parametrize(
    ("checkpoint", "message", "hint"),
    [
        ("{a: {from: b, chunk: [2, 2]}}", "chunk [2, 2] is out of range: the index should be from 0 to 1", None),
        ("{a: {from: b, slice: [3, 3]}}", "slice [3, 3] is out of range: the start should be from 0 to 2", None),
        ("{a: {from: b, chunk: [0, '${n / 2}']}}", "chunk [0, 1.5] should be two whole numbers", None),
        ("{a: {from: b, stack: 2}}", "stack: should be a number of tensors, each with its own name", "write {} once"),
        ("{a: 'b.{}'}", "'b.{}' names several tensors, and 'stack' is missing", "add stack: their number"),
        ("{a: {from: b, stack: true}}", "stack: true takes a list of tensors", None),
        (
            "{a: {from: [{from: 'b.{}', stack: 2}], stack: 2}}",
            "stack: a stack inside another",
            None,
        ),
        ("{a: 'b.*'}", "'b.*' has more '*' than the path 'a'", "each * in a name"),
        ("{'a.{}': b}", "a number in a pattern needs a name", "for example {i}"),
        ("{a: {any: [b], transpose: true}}", "'transpose' cannot be given beside 'any'", "in the entries of the list"),
        ("{'a{i}': 'b${i + depth}'}", "unknown name 'depth'", None),
        ("{a: {form: b}}", "unknown key 'form'", "did you mean 'from'?"),
        ("{a: {any: []}}", "key 'checkpoint.a.any'", None),
    ],
)
def test_errors(checkpoint: str, message: str, hint: str | None) -> None:
    found = the_error(checkpoint)
    assert message in found.message
    assert hint is None or hint in (found.hint or "")
    assert found.span is not None
    assert found.span.line == 7


def test_an_expression_that_fails_for_one_parameter() -> None:
    with pytest.raises(NetcalcError, match=r"the name 'x\$\{1 // i\}' of 'stages\.\{i\}\.\*'"):
        first_places(built('{"stages.{i}.*": "x${1 // i}"}'))
