"""Recurrent layers, in one direction or both, and layers that are applied to each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.shape import merged
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.configuration import Layer
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._recurrence import OPERATIONS, Cell, attributes, cell_of, over, parameters
from netcalc.formats.keras.layers._wrapped import layer_in, wrapped
from netcalc.formats.keras.naming import snake_case
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped


def _sequence(call: Call) -> Operand:
    operand = call.operand(0, "sequence")
    if operand.rank != 3:
        raise RuleError(f"its input has {operand.rank} axes in place of 3")
    mask = call.mask(operand)
    if mask is not None:
        call.note(f"{call.layer.name} takes steps of padding, which Keras passes over, for steps like others")
    return Operand(operand.value, operand.first, mask)


def _initial(call: Call, states: int) -> list[Value]:
    """Return the initial states that a call gives; none if it gives none."""
    given = call.argument(1, "initial_state")
    if given is None:
        return []
    listed = given if isinstance(given, list) else [given]
    if len(listed) != states or not all(isinstance(state, Operand) for state in listed):
        raise RuleError("its initial states")
    return [call.last(state) for state in listed]


@layer("LSTM", "GRU", "SimpleRNN")
def recurrent(call: Call) -> Any:
    """A layer over a sequence: its last state, or all of them, and its states."""
    cell = cell_of(call)
    return _layer(call, [(call, cell, "cell", call.around.path)])


@layer("RNN")
def cells_over_steps(call: Call) -> Any:
    """A cell, or several of which each takes the states of the one before, over a sequence."""
    for name in ("unroll", "zero_output_for_mask"):
        call.get(name)
    outer = wrapped(call, "cell")
    operand = _sequence(call)
    inner = [(outer, "cell", "")] if outer.kind != "StackedRNNCells" else _stacked(call, outer)
    made = []
    for one, where, name in inner:
        if one.kind.removesuffix("Cell") not in OPERATIONS or not one.kind.endswith("Cell"):
            raise RuleError(f"{clipped(one.kind)} as its cell is not supported")
        own = Call(one, call.around, [operand], {})
        made.append((own, cell_of(own), where, f"{call.around.path}{name}"))
        own.require_read()
    return _layer(call, made)


def _stacked(call: Call, outer: Layer) -> list[tuple[Layer, str, str]]:
    """Return the cells of a stack, with their places in the file and the ends of their paths."""
    own, result = Call(outer, call.around, [], {}), []
    cells, numbers = own.get("cells"), dict[str, int]()
    if not isinstance(cells, list) or not cells:
        raise RuleError("a stack without cells")
    own.require_read()
    for place, data in enumerate(cells):
        one = layer_in(call, "cells", data)
        name = snake_case(one.kind)
        number = numbers[name] = numbers.get(name, -1) + 1
        result.append((one, f"cell/cells/{name}_{number}" if number else f"cell/cells/{name}", f".cells.{place}"))
    return result


def _layer(call: Call, cells: Sequence[tuple[Call, Cell, str, str]]) -> Any:
    """Return the results of a layer of cells, each over the outputs of the one before."""
    operand = _sequence(call)
    call.without("stateful", False)
    x = call.last(operand)
    if call.flag("go_backwards"):
        x = call.line("flip", [x], {"axis": 1})
    start = _initial(call, sum(cell.states for _, cell, _, _ in cells))
    last: list[Value] = []
    for own, cell, where, path in cells:
        first, start = start[: cell.states], start[cell.states :]
        x, states = over(own, cell, x, first, where, path)
        last += states
    sequences, with_states = call.flag("return_sequences"), call.flag("return_state")
    output = last[-cells[-1][1].states]
    result = Operand(x, mask=operand.mask) if sequences else Operand(output)
    return [result, *map(Operand, last)] if with_states else result


class _Side(NamedTuple):
    """A direction of a layer of two: its call, its cell, and its place in the file."""

    call: Call
    cell: Cell
    where: str
    path: str


@layer("Bidirectional")
def bidirectional(call: Call) -> Any:
    """Two layers over a sequence, of which the second goes backwards; one operation if netcalc has it."""
    forward = wrapped(call, "layer")
    backward = wrapped(call, "backward_layer") if call.get("backward_layer") is not None else forward
    operand = _sequence(call)
    if any(one.kind not in OPERATIONS for one in (forward, backward)):
        raise RuleError(f"{clipped(forward.kind)} and {clipped(backward.kind)} as its directions are not supported")
    calls = [Call(one, call.around, [operand], {}) for one in (forward, backward)]
    flags = [[one.flag(name) for name in ("return_sequences", "return_state", "stateful")] for one in calls]
    turned = [one.flag("go_backwards") for one in calls]
    if flags[0] != flags[1] or turned[0] or (backward is not forward and not turned[1]) or flags[0][2]:
        raise RuleError("directions with other results, or that are stateful, are not supported")
    names = ("forward", "backward")
    sides = [
        _Side(one, cell_of(one), f"{name}_layer/cell", f"{call.around.path}.{name}")
        for one, name in zip(calls, names, strict=True)
    ]
    x, start = call.last(operand), _initial_of_both(call, sides)
    if sides[0].cell == sides[1].cell and sides[0].cell.is_operation:
        outputs, states = _fused(call, sides, x, start)
    else:
        outputs, states = _apart(call, sides, x, start)
    for one in calls:
        one.require_read()
    if not flags[0][0]:
        outputs = [states[0], states[sides[0].cell.states]]
    merged_outputs = _merged(call, outputs, operand.mask if flags[0][0] else None)
    return [*merged_outputs, *map(Operand, states)] if flags[0][1] else merged_outputs


def _initial_of_both(call: Call, sides: Sequence[_Side]) -> list[list[Value]]:
    """Return the initial states of both directions, which are empty if the call gives none."""
    start = _initial(call, sum(side.cell.states for side in sides))
    half = sides[0].cell.states
    return [start[:half], start[half:]]


def _fused(
    call: Call, sides: Sequence[_Side], x: Value, start: Sequence[Sequence[Value]]
) -> tuple[list[Value], list[Value]]:
    """Return the outputs and the last states of both directions by one operation."""
    cell, held = sides[0].cell, dict[str, Value]()
    for side, end in zip(sides, ("", "_reverse"), strict=True):
        held |= parameters(side.call, cell, x.type.shape[-1], side.where, call.around.path, end)
    states = [call.line("stack", pair, {"axis": 0}) for pair in zip(*start, strict=True)]
    output, *last = call.build.lines(OPERATIONS[cell.kind], [x, *states], attributes(cell, True), held)
    ends = [call.line("select", [state], {"axis": 0, "index": index}) for index in (0, 1) for state in last]
    return [output], ends


def _apart(
    call: Call, sides: Sequence[_Side], x: Value, start: Sequence[Sequence[Value]]
) -> tuple[list[Value], list[Value]]:
    """Return the outputs and the last states of the directions, each by lines of its own."""
    outputs: list[Value] = []
    last: list[Value] = []
    for side, states, backwards in zip(sides, start, (False, True), strict=True):
        taken = call.line("flip", [x], {"axis": 1}) if backwards else x
        output, ends = over(side.call, side.cell, taken, states, side.where, side.path)
        outputs.append(call.line("flip", [output], {"axis": 1}) if backwards else output)
        last += ends
    return outputs, last


def _merged(call: Call, outputs: Sequence[Value], mask: Value | None) -> list[Operand]:
    """Return the results of both directions as the setting says that they are combined; one value has both."""
    mode = None if call.get("merge_mode") is None else call.choice("merge_mode", ("concat", "sum", "mul", "ave"), "")
    if mode == "concat":
        both = outputs[0] if len(outputs) == 1 else call.line("concat", outputs, {"axis": -1})
        return [Operand(both, mask=mask)]
    if len(outputs) == 1:
        outputs = call.build.lines("chunk", outputs, {"chunks": 2, "axis": -1})
    if mode is None:
        return [Operand(output, mask=mask) for output in outputs]
    result = call.line("mul" if mode == "mul" else "add", outputs)
    if mode == "ave":
        result = call.line("mul", [result], {"value": 0.5})
    return [Operand(result, mask=mask)]


@layer("TimeDistributed")
def time_distributed(call: Call) -> Operand:
    """A layer that is applied to each step: the axes of batch and steps are one for it."""
    inner, operand = wrapped(call, "layer"), call.operand()
    call.mask(operand)  # steps that are padding are computed too
    x = call.last(operand)
    if x.type.rank < 3:
        raise RuleError("its input has no steps with features")
    batch, steps = x.type.shape[:2]
    if inner.kind in ("Dense", "Activation", "Dropout"):  # the same for each position
        return call.around.inner(inner, "layer", Operand(x))  # type: ignore[no-any-return]
    result = call.around.inner(inner, "layer", Operand(merged(call.build, x, 0, 1)))
    if not isinstance(result, Operand):
        raise RuleError(f"{clipped(inner.kind)} inside of it has several results")
    value = call.last(result)
    sizes: list[Any] = [-1, steps] if isinstance(steps, int) else [batch, -1]
    return Operand(call.line("unflatten", [value], {"axis": 0, "sizes": sizes}))
