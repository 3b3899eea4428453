"""Unrolled loops: the iterations are one repeat, whatever they carry, collect and count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph, ModuleCall, Stored, StoredTensor, Value
from netcalc.formats.spec_text import spec_text
from netcalc.tensor_type import TensorType
from tests.formats.graph.harness import Made, drawn, values
from tests.formats.graph.test_names import document_of

_ROWS = 40
Body = Callable[[Made, list[Value], Value, int], tuple[list[Value], list[Value]]]


def unrolled(body: Body, times: int, states: int = 1, *, named: str = "") -> Graph:
    """Return the graph of an unrolled loop in a module, from inputs to states and the collected values joined.

    Args:
        body: adds the lines of an iteration, given the states, a tensor of rows and the number of the iteration;
            returns the next states and what is collected.
        times: number of iterations.
        states: number of states.
        named: the name of a layer in the module, if there is one.
    """
    made = Made()
    rows = made.input("rows", _ROWS, 2, 4)
    current = [made.input(f"state_{number}", 2, 4) for number in range(states)]
    made.build.scope = (ModuleCall("m", 0, "Scan"),)
    if named:
        path = f"m.{named}"
        made.graph.tensors[f"{path}.weight"] = StoredTensor(TensorType((4, 4)))
        made.build.scope += (ModuleCall(path, 0, "Linear"),)
        weight = Value(TensorType((4, 4)), stored=Stored(f"{path}.weight"))
        current[0] = made.build.line("linear", [current[0]], {"out": 4, "bias": False}, {"weight": weight})
        made.build.scope = made.build.scope[:1]
    collected: list[Value] = []
    for index in range(times):
        current, more = body(made, current, rows, index)
        collected += more
    joined = {"joined": made.line("stack", *collected, axis=0)} if collected else {}
    return made.done(**{f"y_{number}": value for number, value in enumerate(current)}, **joined)


def scan(made: Made, states: list[Value], rows: Value, index: int) -> tuple[list[Value], list[Value]]:
    """Add the lines of a step of a recurrence, which takes a row and gives one."""
    (state,) = states
    row = made.line("select", rows, axis=0, index=3 * index + 2)
    state = made.line("tanh", made.line("add", made.line("mul", state, row), row))
    return [state], [made.line("sigmoid", made.line("mul", state, row))]


def growing(made: Made, states: list[Value], rows: Value, index: int) -> tuple[list[Value], list[Value]]:
    """Add the lines of a step that takes one row more each time."""
    first, second = states
    part = made.line("sum", made.line("slice", rows, axis=0, start=1, stop=index + 2), axis=0)
    sums = made.line("reshape", made.line("mul", part, second), shape=[2, 4])
    return [made.line("relu", made.line("add", first, sums)), made.line("tanh", first)], []


def irregular(made: Made, states: list[Value], rows: Value, index: int) -> tuple[list[Value], list[Value]]:
    """Add the lines of a step with numbers that do not grow by equal steps, and with two states."""
    first, second = states
    row = made.line("select", rows, axis=0, index=index * index % 7)
    first = made.line("add", made.line("mul", first, row), made.line("exp", made.line("sin", row)))
    return [first, made.line("mul", first, second)], [row]


@pytest.mark.parametrize(("body", "states"), [(scan, 1), (growing, 2), (irregular, 2)])
@pytest.mark.parametrize("named", ["", "loop"])
def test_a_loop_takes_as_many_lines_for_any_number_of_iterations(body: Body, states: int, named: str) -> None:
    texts = [spec_text(spec_document(unrolled(body, times, states, named=named))) for times in (8, 12)]
    assert texts[0].count("\n") == texts[1].count("\n") < 40
    graph = unrolled(body, 8, states, named=named)
    network = document_of(graph)
    expected = values(graph)
    inputs = {name: drawn(name, value.type, 0) for name, value in graph.inputs.items()}
    weights = {path: drawn(path, tensor.type, 0) for path, tensor in graph.tensors.items()}
    found = network.run(inputs, weights=weights, plan="reference").outputs
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5)


def test_modules_with_the_same_loop_share_its_block() -> None:
    def text(times: int) -> str:
        made = Made()
        rows, state = made.input("rows", _ROWS, 2, 4), made.input("state", 2, 4)
        for layer in range(3):
            made.build.scope = (ModuleCall(f"layers.{layer}", 0, "Scan"),)
            collected = []
            for index in range(times):
                (state,), more = scan(made, [state], rows, index)
                collected += more
            state = made.line("mean", made.line("stack", *collected, axis=0), axis=0)
        graph = made.done(y=state)
        document_of(graph)
        return spec_text(spec_document(graph))

    assert text(8).count("\n") == text(12).count("\n") < 40


def test_every_iteration_takes_the_line_before_the_loop_by_its_name() -> None:
    def with_first(made: Made, states: list[Value], rows: Value, index: int) -> tuple[list[Value], list[Value]]:
        fixed, state = states
        state = made.line("tanh", made.line("add", made.line("sin", state), fixed))
        return [fixed, state], [made.line("sigmoid", made.line("mul", state, fixed))]

    graph = unrolled(with_first, 8, 2, named="fc")
    assert "repeat" in spec_text(spec_document(graph))
    document_of(graph)


def test_a_value_of_one_iteration_is_used_by_its_number() -> None:
    made = Made()
    rows, state = made.input("rows", _ROWS, 2, 4), made.input("state", 2, 4)
    kept = []
    for index in range(8):
        (state,), (other,) = scan(made, [state], rows, index)
        kept.append((state, other))
    y = made.line("add", made.line("add", kept[2][0], kept[5][1]), made.line("mul", kept[7][1], kept[1][1]))
    document = spec_document(made.done(y=y, z=kept[4][1]))
    assert "repeat" in spec_text(document)
    document_of(made.graph)


def test_that_lists_which_are_too_long_for_an_expression_are_not_folded() -> None:
    def tabled(made: Made, states: list[Value], rows: Value, index: int) -> tuple[list[Value], list[Value]]:
        numbers = [[[index + (17 * k % 101) / 8 + 0.001 * k for k in range(4)] for _ in range(2)] for _ in range(12)]
        table = made.line("sum", made.line("constant", value=numbers), axis=0)
        state = made.line("tanh", made.line("add", made.line("mul", states[0], table), table))
        return [made.line("sigmoid", state)], []

    document_of(unrolled(tabled, 9))


_OPERATIONS = ("add", "mul", "tanh", "relu", "row", "part")


@st.composite
def bodies(draw: Any) -> tuple[Body, int]:
    """Draw the body of a loop and its number of states."""
    states = draw(st.integers(1, 3))
    operand = st.tuples(st.sampled_from(("state", "made", "made", "first")), st.integers(0, 7))
    line = st.tuples(st.sampled_from(_OPERATIONS), operand, operand, st.integers(-1, 3), st.integers(0, 5))
    lines = draw(st.lists(line, min_size=states, max_size=9))
    next_states = draw(st.lists(operand, min_size=states, max_size=states))
    collected = draw(st.lists(st.integers(0, len(lines) - 1), max_size=2))

    def body(made: Made, current: list[Value], rows: Value, index: int) -> tuple[list[Value], list[Value]]:
        fixed = first_states.setdefault(id(made), current)
        own: list[Value] = []

        def value(operand: tuple[str, int]) -> Value:
            kind, number = operand
            values = {"state": current, "made": own or current, "first": fixed}[kind]
            return values[number % len(values)]

        for operation, a, b, step, offset in lines:
            if operation == "row":
                row = made.line("select", rows, axis=0, index=(step * index + offset) % _ROWS)
                own.append(made.line("mul", row, value(a)))
            elif operation == "part":
                part = made.line("slice", rows, axis=0, stop=abs(step) * index + offset + 1)
                own.append(made.line("mul", made.line("sum", part, axis=0), value(a)))
            else:
                own.append(made.line(operation, *[value(a), value(b)][: 2 if operation in ("add", "mul") else 1]))
        return [value(operand) for operand in next_states], [own[number] for number in collected]

    first_states: dict[int, list[Value]] = {}
    return body, states


@given(bodies(), st.integers(3, 8), st.sampled_from(["", "loop", "loop_1", "fc"]))
def test_drawn_loops(drawn_body: tuple[Body, int], times: int, named: str) -> None:
    body, states = drawn_body
    document_of(unrolled(body, times, states, named=named))
