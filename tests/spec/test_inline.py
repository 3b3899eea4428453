"""``inline: true``: a block whose lines have the paths that they would have in place of the line."""

from __future__ import annotations

import pytest

from netcalc.analysis.walk import parameters
from netcalc.ir import Program
from tests.spec.harness import params, problems, program, shapes

BLOCK = """
inputs: {x: [2, 8]}
blocks:
  pair:
    args: {units: 8}
    layers: [{name: fc, linear: "${units}"}, relu, {linear: 8}]
layers:
"""


def with_layers(*lines: str) -> Program:
    return program(BLOCK + "".join(f"  - {line}\n" for line in lines))


def test_paths_are_those_of_the_lines_in_place() -> None:
    inlined = with_layers("relu", "{inline: true, pair: {units: 5}}", "{name: head, linear: 3}")
    written = with_layers("relu", "{name: fc, linear: 5}", "relu", "{linear: 8}", "{name: head, linear: 3}")
    assert shapes(inlined) == shapes(written)
    assert list(shapes(inlined)) == ["relu", "fc", "relu_1", "linear", "head"]
    assert params(inlined) == params(written)


def test_numbering_in_a_sequence_continues() -> None:
    found = with_layers("{name: f, sequence: [{linear: 8}, {inline: true, pair: {}}, relu]}")
    assert list(shapes(found)) == ["f.0", "f.fc", "f.1", "f.2", "f.3"]


def test_repeated_it_continues_the_numbering() -> None:
    text = """
    inputs: {x: [2, 8]}
    blocks: {pair: {layers: [{linear: 8}, relu]}}
    layers: [{name: f, sequence: [{repeat: 2, inline: true, pair: {}}, {linear: 3}]}]
    """
    assert list(shapes(program(text))) == ["f.0", "f.1", "f.2", "f.3", "f.4"]
    sequence = text.replace("inline: true, pair: {}", "sequence: [{linear: 8}, relu]")
    assert shapes(program(text)) == shapes(program(sequence))


def test_names_do_not_leak() -> None:
    text = """
    inputs: {x: [2, 8]}
    blocks:
      inner:
        layers: [{name: hidden, linear: 4}, {name: out, linear: 8}]
    layers:
      - {name: before, linear: 8}
      - {inline: true, inner: {}, as: result}
      - {from: [result, before], add: {}}
    """
    assert list(shapes(program(text))) == ["before", "hidden", "out", "add"]
    outside = text.replace("{name: out, linear: 8}", "{name: out, linear: 8}, {from: [_, before], add: {}}")
    assert "before" in str(problems(outside.replace("name: hidden", "name: a")))


def test_several_outputs_are_carried() -> None:
    text = """
    inputs: {a: [2, 3], b: [2, 4]}
    blocks:
      swap:
        inputs: [p, q]
        outputs: [q, p]
        layers: [{from: p, relu: {}}]
    layers:
      - {from: [a, b], inline: true, repeat: REPEAT, swap: {}, as: [first, second]}
      - {from: first, linear: 1}
    outputs: [first, second]
    """
    for repeat, expected in (("0", ["2×3", "2×4"]), ("1", ["2×4", "2×3"]), ("2", ["2×3", "2×4"])):
        found = program(text.replace("REPEAT", repeat))
        assert [str(value.type) for value in found.main.outputs] == expected


def test_places_in_checkpoints_and_ties_are_relative_to_the_block() -> None:
    found = program(
        """
        inputs: {x: [2, 8]}
        blocks:
          tied:
            layers: [{name: a, linear: 8}, {name: b, tie: {weight: a.weight}, linear: 8}]
            checkpoint: {a.weight: first.kernel, "b.*": "/second.*"}
        layers:
          - {name: one, sequence: [{inline: true, tied: {}}]}
          - {name: two, sequence: [{inline: true, tied: {}}]}
        """
    )
    assert params(found)["two.b.weight"] == "two.a.weight"
    places = {p.path: p.entries for p in parameters(found)}
    assert "'one.first.kernel'" in str(places["one.a.weight"])
    assert "'two.first.kernel'" in str(places["two.a.weight"])
    assert "second.bias'" in str(places["two.b.bias"])
    assert "kernel" not in str(places["one.a.bias"])


def test_a_shipped_block_finds_its_own_blocks_and_no_vars() -> None:
    found = program(
        """
        inputs: {x: [1, 6, 8]}
        vars: {eps: 3}
        layers:
          - {inline: true, transformer_encoder_layer: {heads: 2, hidden: 16}}
        """
    )
    called = program(
        """
        inputs: {x: [1, 6, 8]}
        layers: [{name: c, transformer_encoder_layer: {heads: 2, hidden: 16}}]
        """
    )
    assert [f"c.{path}" for path in shapes(found)] == list(shapes(called))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{name: a, inline: true, pair: {}}", "name: an inlined block has no path part"),
        ("{inline: true, relu: {}}", "inline: applies to blocks, and relu is not one"),
        ("{inline: true, sequence: [relu]}", "inline: applies to blocks"),
        ("{inline: true, module: fc, pair: {}}", "module: an inlined block has no path"),
        ("{inline: true, tie: fc, pair: {}}", "tie: an inlined block has no path"),
        ("{repeat: 2, share: true, inline: true, pair: {}}", "share: an inlined block has no path"),
    ],
)
def test_what_cannot_be_inlined(line: str, message: str) -> None:
    (problem,) = problems(BLOCK + f"  - {line}\n")
    assert problem.code == "E107"
    assert problem.message.startswith(message)
    assert problem.hint


def test_paths_stay_unique() -> None:
    codes = [p.code for p in problems(BLOCK + "  - {inline: true, pair: {}}\n  - {inline: true, pair: {}}\n")]
    assert "E106" in codes


def test_false_calls_the_block() -> None:
    found = with_layers("{inline: false, name: a, pair: {}}")
    assert list(shapes(found)) == ["a.fc", "a.relu", "a.linear"]
