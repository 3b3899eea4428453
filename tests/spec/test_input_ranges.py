"""Ranges of inputs, and the operations that read them."""

from __future__ import annotations

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.numerics.inputs import run_inputs
from tests.spec.harness import problems, program, request

TABLE = "{embedding: {num_embeddings: 10, embedding_dim: 4}}"


def ids(declared: str, *lines: str) -> str:
    return f"inputs:\n  ids: {{shape: [2, 6], dtype: int64{declared}}}\nlayers: [{', '.join(lines)}]\n"


@pytest.mark.parametrize(
    "lines",
    [
        (TABLE,),
        ("flatten", TABLE),
        ("{transpose: {axes: [0, 1]}}", "{chunk: {axis: 0, chunks: 2, }}", TABLE),
        (f"{{sequence: [flatten, {TABLE}]}}",),
        ("{one_hot: 10}",),
    ],
)
def test_a_range_that_exceeds_what_a_reader_takes_is_an_error_at_the_input(lines: tuple[str, ...]) -> None:
    program(ids(", range: [0, 10]", *lines))
    (problem,) = problems(ids(", range: [0, 11]", *lines))
    assert problem.code == "E104"
    assert problem.span is not None and problem.span.line == 3
    assert "'ids' may hold 0 to 10, and" in problem.message and "takes 0 to 9" in problem.message
    assert problem.hint == "write range: [0, 10]"


def test_a_default_outside_the_table_is_an_error() -> None:
    assert "may hold 10, and embedding" in problems(ids(", default: 10", TABLE))[0].message


def test_ranges_are_followed_into_repeats() -> None:
    lines = "linear: 4, {as: a, from: ids, one_hot: {num_classes: 4, dtype: float32}}, {add: , from: [in, a]}"
    text = "inputs: {x: [2, 4], ids: {shape: [2], dtype: int64, range: [0, 5]}}\n"
    text += f"layers: [{{repeat: 3, sequence: [{lines}]}}]"
    (problem,) = problems(text)
    assert "one_hot takes 0 to 3" in problem.message


def test_probabilities_lie_between_0_and_1() -> None:
    text = "inputs: {{p: {{shape: [4], range: {0}}}, t: {{shape: [4], range: {1}}}}}\n"
    text += "layers: [{{from: [p, t], binary_cross_entropy: }}]"
    program(text.format([0, 1], [0.25, 0.5]))
    found = problems(text.format([0, 1.5], [-1, 1]))
    assert [d.message for d in found] == [
        "the input 'p' may hold 0 to 1.5, and binary_cross_entropy takes 0 to 1",
        "the input 't' may hold -1 to 1, and binary_cross_entropy takes 0 to 1",
    ]


def test_the_class_that_a_loss_ignores_may_be_in_the_range() -> None:
    text = "inputs: {{x: [4, 3], t: {{shape: [4], dtype: int64, range: {}}}}}\n"
    text += "layers: [{{from: [x, t], cross_entropy: {{ignore_index: {}}}}}]"
    for range_, ignored in (([-1, 3], -1), ([0, 4], 3), ([-1, 0], -1)):
        program(text.format(range_, ignored))
    assert "takes 0 to 2, or -1" in problems(text.format([-2, 3], -1))[0].message
    assert "takes 0 to 2, or 4" in problems(text.format([0, 5], 4))[0].message


def test_an_input_without_a_range_has_the_range_of_its_readers() -> None:
    (spec,) = program(ids("", "flatten", TABLE)).inputs
    assert (spec.low, spec.high) == (0, 10)
    both = program(ids("", "{as: a, from: ids, one_hot: 7}", f"{{from: ids, {TABLE[1:]}"))
    assert (both.inputs[0].low, both.inputs[0].high) == (0, 7)
    (array,) = run_inputs(both)
    assert array.min() >= 0 and array.max() < 7
    with pytest.raises(NetcalcError, match="its range is"):
        run_inputs(both, {"ids": array + 7})


def test_a_target_without_a_range_may_hold_the_ignored_class() -> None:
    text = "inputs: {x: [4, 3], t: {shape: [4], dtype: int64}}\nlayers: [{from: [x, t], cross_entropy: }]"
    target = program(text).inputs[1]
    assert (target.low, target.high, target.also) == (0, 3, -100)


def test_inputs_of_a_loss_are_held_against_it() -> None:
    text = """\
    inputs: {{x: [4, 8]}}
    layers: [{{linear: 3}}]
    loss:
      inputs: {{t: {{shape: [4], dtype: int64{}}}}}
      layers: [{{from: [output, t], cross_entropy: }}]
    """
    (problem,) = problems(text.format(", range: [0, 4]"))
    assert "'t' may hold 0 to 3, and cross_entropy takes 0 to 2" in problem.message
    loss = request(text.format("")).loss
    assert loss is not None and (loss.inputs[0].low, loss.inputs[0].high) == (0, 3)


def test_a_symbolic_table_has_room_for_the_range() -> None:
    text = "dims: {n: 16}\ninputs: {ids: {shape: [2], dtype: int64, range: [0, 12]}, x: [2, n]}\n"
    text += 'layers: [{from: ids, embedding: {num_embeddings: "${n}", embedding_dim: 4}}]'
    assert [str(claim) for claim in program(text, symbolic=("n",)).assumptions] == ["12 <= n"]
    assert program(text, n=13).inputs[0].high == 12
    for n in (11, 5):  # the first settings make a sketch
        assert "takes 0 to" in problems(text, n=n)[0].message
