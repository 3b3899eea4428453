"""The modifier ``eager``: what it adds to nodes, and its errors."""

from __future__ import annotations

import pytest

from netcalc.analysis.activations import activations
from netcalc.diagnostics import NetcalcError
from netcalc.ir import CallNode
from netcalc.ir.check import check
from netcalc.ir.specialize import specialize
from netcalc.loading import loads
from tests.numerics.programs import program

TEXT = """
dims: {n: 10}
inputs: {x: [n, 10]}
layers:
  - {name: a, linear: 10}
  - {name: b, relu: {}, eager: {inplace: true}}
  - {name: stage, repeat: 3, sequence: [{linear: 20}, {linear: 10}], eager: {holds: [_, x]}}
"""


def test_nodes_have_what_is_declared() -> None:
    net = program(TEXT)
    check(net)
    _, b, stage = net.main.nodes
    assert not isinstance(b, CallNode) and b.inplace
    assert [value.name for value in stage.holds] == ["b", "x"]


def test_a_symbolic_program_keeps_it() -> None:
    symbolic = loads("netcalc: 1\n" + TEXT, symbolic=["n"]).program
    net = specialize(symbolic, {"n": 10})
    check(net)
    assert activations(net, "eager").peak == activations(program(TEXT), "eager").peak


def test_results_in_place_and_held_values_count() -> None:
    bare = program(TEXT.replace(", eager: {inplace: true}", "").replace(", eager: {holds: [_, x]}", ""))
    # x and a hold 400 bytes each, and the first layer of the stage 800; a is released after the first iteration
    assert activations(bare, "eager").peak == 400 + 400 + 800 + 400
    assert activations(program(TEXT), "eager").peak == 400 + 400 + 400 + 800 + 400
    assert activations(bare).peak == activations(program(TEXT)).peak == 400 + 800


def test_a_named_sequence_holds_its_input() -> None:
    lines = "{linear: 10}, {linear: 10}, {linear: 1}"
    named = program(f"inputs: {{x: [10, 10]}}\nlayers: [relu, {{name: mlp, sequence: [{lines}]}}]")
    bare = program(f"inputs: {{x: [10, 10]}}\nlayers: [relu, {lines}]")
    assert activations(named, "eager").peak == activations(bare, "eager").peak + 400


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{relu: {}, eager: true}", "E104"),
        ("{relu: {}, eager: {in_place: true}}", "E101"),
        ("{relu: {}, eager: {inplace: 1}}", "E104"),
        ("{linear: 4, eager: {inplace: true}}", "E104"),
        ("{relu: {}, eager: {holds: [1]}}", "E104"),
        ("{relu: {}, eager: {holds: nothing}}", "E301"),
        ("{sequence: [relu], eager: {holds: x}}", "E107"),
        ("{repeat: 2, sequence: [relu], eager: {holds: x}}", "E107"),
        ("{repeat: 2, name: r, sequence: [relu], eager: {inplace: true}}", "E104"),
    ],
)
def test_errors(line: str, code: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        program(f"inputs: {{x: [10, 10]}}\nlayers: [{line}]")
    assert [found.code for found in caught.value.diagnostics] == [code]
