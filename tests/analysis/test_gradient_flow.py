"""Gradient flow without unrolling against the flow that a tape observes, operation by operation."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.gradient_flow import GradientFlow, gradient_flow
from netcalc.analysis.walk import instances, parameters
from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.ir import CallNode, Program
from netcalc.ir.check import check
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tally import tallied, tallying
from netcalc.numerics.tape import Record, Tape
from netcalc.numerics.vjps import Back
from netcalc.ops.backward import Source
from tests.numerics.programs import program
from tests.zoo.harness import SMALL, built

#: Operations of a pass in order: path, gradients that are computed, and outputs of which one arrives.
Observed = list[tuple[str, frozenset[Source], tuple[bool, ...]]]


def observed(network: Program, inputs: frozenset[str]) -> tuple[Observed, int]:
    """Return what a tape does, and the number of additions of gradients."""
    tensors = Parameters(network)
    tape = Tape(network, tensors.fetch, lambda path: True, inputs, generator(0, "/run"), run_operation)
    with np.errstate(all="ignore"):
        outputs = tape.run([*run_inputs(network)])
    done: Observed = []

    def product(record: Record, back: Back, arrived: tuple[Array | None, ...]) -> dict[Source, Array]:
        done.append((record.instance.path, record.wanted, tuple(one is not None for one in arrived)))
        sizes: dict[Source, Any] = {p.name: p.shape for p in record.instance.node.params}
        sizes |= {number: type_.shape for number, type_ in enumerate(record.inputs) if type_ is not None}
        return {source: tallied(np.zeros(sizes[source])) for source in record.wanted}

    seeds = {output.number: tallied(np.ones_like(output.array)) for output in outputs if output.wanted}
    with tallying() as counter:
        list(tape.backward(seeds, product))
    return done[::-1], counter["add"]


def predicted(flow: GradientFlow) -> tuple[Observed, int]:
    """Return the same of a flow, its repeats unrolled."""
    done: Observed = []
    additions = 0
    for instance in instances(flow.program):
        node, found = instance.node, flow.of(instance.node)
        if not found.wanted:
            continue
        done.append((instance.path, found.wanted, found.given))
        sizes: dict[Source, Any] = {p.name: p.elements for p in node.params}
        sizes |= {number: type_.elements for number, type_ in enumerate(node.input_types) if type_ is not None}
        additions += sum(sizes[source] for source in found.added)
    return done, additions


def described(network: Program) -> list[Any]:
    """Return all paths, operations and owners of a program, which a change of its bodies must keep."""
    return [*((i.path, i.node.op.name, dict(i.owners)) for i in instances(network)), *map(str, parameters(network))]


def assert_flows(network: Program, inputs: frozenset[str] = frozenset()) -> GradientFlow:
    flow = gradient_flow(network, inputs)
    check(flow.program)
    assert described(flow.program) == described(network)
    assert predicted(flow) == observed(network, inputs)
    return flow


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(SMALL))
def test_shipped_specs(name: str) -> None:
    assert_flows(built(name, **SMALL[name]))


def calls(flow: GradientFlow) -> list[tuple[str, int | None, int]]:
    return [(node.name, node.start, node.times) for node in flow.program.main.nodes if isinstance(node, CallNode)]


def test_a_million_layers_are_two_calls() -> None:
    """The first layer needs no gradient of its input, and all others are equal."""
    flow = gradient_flow(
        program("inputs: {x: [2, 8]}\nlayers: [{name: deep, repeat: 1_000_000, sequence: [{linear: 8}, relu]}]")
    )
    assert calls(flow) == [("deep", 0, 1), ("deep", 1, 999_999)]


def test_equal_iterations_stay_one_call() -> None:
    text = "inputs: {x: [2, 8]}\nlayers: [{linear: 8}, {name: deep, repeat: 9, sequence: [{linear: 8}, relu]}, relu]"
    assert calls(assert_flows(program(text))) == [("deep", 0, 9)]


def test_nothing_is_computed_before_the_last_frozen_layer() -> None:
    text = """
    inputs: {x: [2, 8]}
    layers: [{name: deep, repeat: 9, freeze: "${index < 5}", sequence: [{linear: 8}, relu]}]
    """
    flow = assert_flows(program(dedent(text)))
    wanted = {i.path: sorted(map(str, flow.of(i.node).wanted)) for i in instances(flow.program)}
    assert wanted["deep.4.0"] == wanted["deep.4.1"] == []
    assert wanted["deep.5.0"] == ["bias", "weight"]
    assert wanted["deep.6.0"] == ["0", "bias", "weight"]


def test_each_use_of_a_tensor_but_the_first_adds() -> None:
    text = """
    inputs: {x: [2, 8]}
    layers:
      - {name: a, linear: 8}
      - {name: b, from: a, relu: {}}
      - {name: c, from: [b, a, a], concat: {axis: 1}}
    """
    flow = assert_flows(program(dedent(text)))
    assert {i.path: set(flow.of(i.node).added) for i in instances(flow.program)} == {
        "a": set(),
        "b": set(),
        "c": {1, 2},
    }


def test_iterations_that_differ_too_often_are_refused() -> None:
    text = """
    inputs: {x: [2, 8], y: [2, 8]}
    blocks: {swap: {inputs: [p, q], outputs: [q, r], layers: [{name: r, from: p, relu: {}}]}}
    layers: [{name: s, from: [x, y], repeat: 10_000_000, swap: {}}]
    """
    with pytest.raises(NetcalcError, match="differ in their gradients"):
        gradient_flow(program(dedent(text)), ["x"])


def test_an_unknown_input_is_named() -> None:
    with pytest.raises(NetcalcError, match="no floating-point input is called 'z'"):
        gradient_flow(program("inputs: {x: [2, 8]}\nlayers: [relu]"), ["z"])


#: Shape of every tensor of a drawn program, so that blocks and repeats fit each other.
SIZES = "[2, 4]"


@st.composite
def lines(draw: st.DrawFn, known: list[str], blocks: list[str], prefix: str) -> list[str]:
    """Return lines of a body; the names of their outputs are appended to ``known``."""
    found: list[str] = []
    linear: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        name = f"{prefix}{number}"
        one, other = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        kind = draw(st.sampled_from(["linear", "relu", "concat", "tied", *["call"] * (2 * bool(blocks))]))
        frozen = draw(st.sampled_from(["", "", ", freeze: true"]))
        if kind == "tied" and linear:
            owner = draw(st.sampled_from(linear))
            found.append(f"{{name: {name}, from: {one}, linear: 4, tie: {{weight: {owner}.weight}}{frozen}}}")
        elif kind == "call":
            times = draw(st.integers(1, 4))
            share = draw(st.sampled_from(["", ", share: true"])) if times > 1 else ""
            frozen = draw(st.sampled_from(["", ', freeze: "${index < 2}"'])) if times > 1 and not share else ""
            repeat = f", repeat: {times}{share}{frozen}" if times > 1 else ""
            found.append(f"{{name: {name}, from: [{one}, {other}]{repeat}, {draw(st.sampled_from(blocks))}: {{}}}}")
            known.append(f"{name}.{draw(st.integers(0, 1))}" if times > 1 else name)
            continue
        elif kind == "concat":
            found.append(f"{{name: {name}c, from: [{one}, {other}], concat: {{axis: 1}}}}")
            found.append(f"{{name: {name}, slice: {{axis: 1, start: 2, stop: 6}}}}")
        elif kind == "relu":
            found.append(f"{{name: {name}, from: {one}, relu: {{}}}}")
        else:
            linear.append(name)
            found.append(f"{{name: {name}, from: {one}, linear: 4{frozen}}}")
        known.append(name)
    return found


@st.composite
def specs(draw: st.DrawFn) -> str:
    """Return a spec with blocks of two inputs and outputs, which may pass inputs on, and repeats of them."""
    text, blocks = f"inputs: {{x: {SIZES}, y: {SIZES}}}\nblocks:\n", list[str]()
    for number in range(draw(st.integers(1, 2))):
        known = ["p", "q"]
        inside = draw(lines(known, blocks, "v"))
        first = draw(st.sampled_from(known))
        last = first.rpartition(".")[2]  # by which an output is called
        second = draw(st.sampled_from([name for name in known if name.rpartition(".")[2] != last]))
        text += f"  b{number}: {{inputs: [p, q], outputs: [{first}, {second}], layers: [{', '.join(inside)}]}}\n"
        blocks.append(f"b{number}")
    known = ["x", "y"]
    text += f"layers: [{', '.join(draw(lines(known, blocks, 'm')))}]\n"
    chosen = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
    return text + "outputs: {" + ", ".join(f"o{i}: {name}" for i, name in enumerate(chosen)) + "}\n"


@given(specs(), st.sets(st.sampled_from(["x", "y"])))
@settings(max_examples=60, deadline=None)
def test_drawn_programs(text: str, inputs: set[str]) -> None:
    assert_flows(program(text), frozenset(inputs))
