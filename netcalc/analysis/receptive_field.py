"""Receptive fields: the positions of the input that a position of a layer's output depends on.

The first floating-point input with spatial axes (N, C, L…) is followed, axis by axis.  Fields belong to an unbounded
input: they include padding, as in Araujo et al. 2019, "Computing receptive fields of convolutional neural networks",
https://distill.pub/2019/computing-receptive-fields.  Within the input they are cut at its borders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.cost import Row
from netcalc.analysis.counting import require_unrolled
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dtypes import FLOATS
from netcalc.ir import CallNode, Program
from netcalc.limits import MAX_SIZE_BITS
from netcalc.opdef import AxisReach, Merged, Window
from netcalc.results import Entry, recorded
from netcalc.tensor_type import TensorType

#: Different windows that follow one another before they repeat, after upsampling.
MAX_PERIOD = 64


@recorded("size", Entry("stride", optional=True), Entry("offset", optional=True))
class AxisField(NamedTuple):
    """Receptive field along a spatial axis of the input, in elements of the input."""

    size: int | Literal["all"] | None
    """Number of positions, the largest where they differ, padding included; null if it is not known."""
    stride: Fraction | None = None
    """Distance between the fields of neighbouring positions."""
    offset: Fraction | None = None
    """Centre of the field of the first position; the first element of the input is at 0."""


#: The fields of a layer along each spatial axis of the input; empty if the layer does not depend on it.
Fields: TypeAlias = tuple[AxisField, ...]


class Extent(NamedTuple):
    """Field of the positions of an output axis: position i depends on ``low``(i) to ``high``(i).

    Both are given for the first positions; those after them continue with ``step`` more.
    """

    axis: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    step: int

    def bounds(self, position: int) -> tuple[int, int]:
        """Return the first and the last input position that a position depends on."""
        turns, place = divmod(position, len(self.low))
        return self.low[place] + turns * self.step, self.high[place] + turns * self.step

    def field(self) -> AxisField:
        """Return size, stride and offset."""
        size = max(high - low + 1 for low, high in zip(self.low, self.high, strict=True))
        return AxisField(size, Fraction(self.step, len(self.low)), Fraction(self.low[0] + self.high[0], 2))


#: What a value depends on along one input axis: nothing, everything, or an extent of each position; where axes are
#: merged, their positions together depend on everything.
Traced: TypeAlias = Extent | Merged | Literal["none", "all", "unknown"]


def followed_input(program: Program) -> int:
    """Return the number of the input that is followed.

    Raises:
        NetcalcError: E502 if no input is floating point with spatial axes.
    """
    for number, spec in enumerate(program.inputs):
        if spec.type.rank >= 3 and spec.type.dtype in FLOATS:
            return number
    raise NetcalcError(
        Diagnostic(
            "E502", f"--receptive-field: {program.name} has no floating-point input with spatial axes (N, C, L…)"
        )
    )


def receptive_fields(program: Program) -> Mapping[str, Fields]:
    """Return the fields of the first output of every operation and call by path, repeats unrolled.

    Raises:
        NetcalcError: E502 if the program has no floating-point input with spatial axes, or too many layers.
    """
    require_unrolled(program)
    return {path: _fields(states[0]) for path, _, states in traced(program)}


def fields_of(row: Row, fields: Mapping[str, Fields]) -> Fields:
    """Return the fields of a row of an unrolled report, which its output has."""
    if row.path in fields or not row.children:
        return fields.get(row.path, ())
    return fields_of(row.children[-1], fields)


def _fields(state: Sequence[Traced]) -> Fields:
    if all(along == "none" for along in state):
        return ()
    return tuple(
        along.field() if isinstance(along, Extent) else AxisField("all" if along == "all" else None) for along in state
    )


def traced(program: Program) -> Iterator[tuple[str, Instance | CallNode, Sequence[Sequence[Traced]]]]:
    """Yield path, node and the state of each output, for each operation and each iteration of a call."""
    followed = followed_input(program)
    axes = program.inputs[followed].type.rank - 2
    untouched: tuple[Traced, ...] = tuple("none" for _ in range(axes))
    inputs: list[tuple[Traced, ...] | None] = [untouched] * len(program.inputs)
    inputs[followed] = tuple(Extent(axis + 2, (0,), (0,), 1) for axis in range(axes))
    visited: list[tuple[str, Instance | CallNode, Sequence[Sequence[Traced]]]] = []

    def evaluate(instance: Instance, states: Sequence[tuple[Traced, ...] | None]) -> list[tuple[Traced, ...]]:
        present = [state for state in states if state is not None]
        types = [type_ for type_ in instance.node.input_types if type_ is not None]
        outputs = [
            _output(instance, types, present, output, axes, program.training) for output in instance.node.output_types
        ]
        visited.append((instance.path, instance, outputs))
        return outputs

    unroll(program, inputs, evaluate, lambda path, call, states: visited.append((path, call, tuple(states))))
    yield from visited


def _output(
    instance: Instance,
    types: Sequence[TensorType],
    states: Sequence[tuple[Traced, ...]],
    output: TensorType,
    axes: int,
    training: bool,
) -> tuple[Traced, ...]:
    """Return the state of an output of an operation."""
    depends = [[state[axis] != "none" for state in states] for axis in range(axes)]
    if not any(map(any, depends)):
        return states[0] if states else tuple("none" for _ in range(axes))
    reach = instance.node.op.reach(types, output, training) if output.dtype in FLOATS else None
    if reach is None:
        return tuple("unknown" if any(some) else "none" for some in depends)
    return tuple(
        reduce(_either, (_through(state[axis], through) for state, through in zip(states, reach, strict=True)))
        for axis in range(axes)
    )


def _through(along: Traced, reach: Sequence[AxisReach]) -> Traced:
    """Return what an output depends on that reads a value so."""
    if not isinstance(along, (Extent, Merged)):
        return along
    through = reach[along.axis]
    if isinstance(through, str):
        return through
    if isinstance(along, Merged) or isinstance(through, Merged):
        stays_merged = isinstance(through, Merged) or through == Window(through.axis)
        return Merged(through.axis) if stays_merged else "unknown"
    return _composed(along, through)


def _composed(along: Extent, window: Window) -> Traced:
    """Return the extent of positions that read windows of positions."""
    period = len(along.low)
    moved = window.step  # positions of the value, for ``divisor`` positions of the output
    turns = window.divisor * (period // gcd(period, moved) if moved else 1)
    if turns > MAX_PERIOD:
        return "unknown"
    first = (-(-(i * moved + window.first) // window.divisor) for i in range(turns))
    last = ((i * moved + window.last) // window.divisor for i in range(turns))
    step = along.step * (turns * moved // window.divisor) // period
    low, high = tuple(along.bounds(at)[0] for at in first), tuple(along.bounds(at)[1] for at in last)
    if max(map(abs, (*low, *high, step))).bit_length() > MAX_SIZE_BITS:
        return "unknown"
    return Extent(window.axis, low, high, step)


def _either(first: Traced, other: Traced) -> Traced:
    """Return what depends on both."""
    if first == "none" or other == "all":
        return other
    if other == "none" or first == "all":
        return first
    if isinstance(first, Merged) and first == other:
        return first
    if not isinstance(first, Extent) or not isinstance(other, Extent) or first.axis != other.axis:
        return "unknown"
    period = lcm(len(first.low), len(other.low))
    if period > MAX_PERIOD or first.step * len(other.low) != other.step * len(first.low):
        return "unknown"
    bounds = [(first.bounds(i), other.bounds(i)) for i in range(period)]
    low, high = tuple(min(a[0], b[0]) for a, b in bounds), tuple(max(a[1], b[1]) for a, b in bounds)
    return Extent(first.axis, low, high, first.step * period // len(first.low))
