"""Positions of an input that a position of an output reads, axis by axis; receptive fields follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from netcalc.tensor_type import TensorType


class Window(NamedTuple):
    """The positions of an input axis that position i of the output axis ``axis`` reads.

    They are those from ⌈(i·step + first)/divisor⌉ to ⌊(i·step + last)/divisor⌋, every ``spacing``-th of them.
    """

    axis: int
    step: int = 1
    first: int = 0
    last: int = 0
    divisor: int = 1
    spacing: int = 1


class Merged(NamedTuple):
    """An input axis that is joined with others into the output axis ``axis``."""

    axis: int


#: An input axis: its window; ``all`` if every position of the output reads the whole axis; or ``unknown``.
AxisReach: TypeAlias = Window | Merged | Literal["all", "unknown"]
#: The axes of an input, in order.
Reach: TypeAlias = tuple[AxisReach, ...]


def axes_of(x: TensorType, others: Mapping[int, AxisReach] | None = None) -> Reach:
    """Return the reach of an input that has the same axes as the output, except for the axes in ``others``."""
    by_axis = {axis % x.rank: value for axis, value in (others or {}).items()}
    return tuple(by_axis.get(axis) or Window(axis) for axis in range(x.rank))


def every(x: TensorType, value: Literal["all", "unknown"]) -> Reach:
    """Return the reach of an input of which all axes are read alike."""
    return tuple(value for _ in x.shape)


def aligned(x: TensorType, output: TensorType) -> Reach:
    """Return the reach of an input that broadcasts to the output."""
    added = output.rank - x.rank
    return tuple(
        Window(axis + added, step=0 if size == 1 and output.shape[axis + added] != 1 else 1)
        for axis, size in enumerate(x.shape)
    )


def merged_axes(x: TensorType, output: TensorType) -> Reach:
    """Return the reach of a reshaped input: kept axes are windows, and axes joined into one are merged."""
    reach: list[AxisReach] = []
    sizes, targets = list(enumerate(x.shape)), list(enumerate(output.shape))
    while sizes:
        left = [sizes.pop(0)]
        reached = left[0][1]
        right = [targets.pop(0)] if targets else []
        made = right[0][1] if right else 1
        while reached != made:
            if isinstance(reached, int) and isinstance(made, int) and reached > made and targets:
                right.append(targets.pop(0))
                made = made * right[-1][1]
            elif sizes:
                left.append(sizes.pop(0))
                reached = reached * left[-1][1]
            else:
                return (*reach, *every(x, "unknown")[len(reach) :])
        reach += _group([size for _, size in left], [(axis, size) for axis, size in right])
    return tuple(reach)


def _group(sizes: Sequence[object], targets: Sequence[tuple[int, object]]) -> Iterable[AxisReach]:
    """Return the reach of axes that together become the axes ``targets``."""
    wide = [axis for axis, size in targets if size != 1] or [axis for axis, _ in targets][:1]
    if len(wide) != 1:
        return ["unknown"] * len(sizes)
    alone = sum(size != 1 for size in sizes) <= 1
    return [Window(wide[0]) if alone and (size != 1 or len(sizes) == 1) else Merged(wide[0]) for size in sizes]
