"""Ranges along an axis."""

from __future__ import annotations

from typing import Any

from netcalc.dims import Dim, maximum, minimum
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value


def bound(index: Dim, size: Dim) -> Dim:
    """Return an index counted from the front and limited to an axis of this size."""
    return maximum(size + index, 0) if index < 0 else minimum(index, size)


def part(
    build: Builder,
    input: Value,
    axis: int,
    start: Dim,
    stop: Dim,
    step: Dim = 1,
    *,
    written: tuple[Dim | None, Dim | None] = (None, None),
) -> Value:
    """Return a range of an axis, given by indices from the front; of a stored tensor a view, where it has one.

    ``written`` are the indices of the source, which are kept where they count from the end.
    """
    size = input.type.shape[axis]
    stop = maximum(start, stop)
    if start == 0 and stop == size and step == 1:
        return input
    if step == 1 and axis % input.type.rank == 0 and (view := _stored_part(input, start, stop)) is not None:
        return view
    if start == stop:
        return build.line("slice", [input], range_attributes(axis, start, stop, step))
    first, last = (
        wanted if isinstance(wanted, int) and -size <= wanted < 0 else index
        for wanted, index in zip(written, (start, None if stop == size else stop), strict=True)
    )
    return build.line("slice", [input], range_attributes(axis, first or 0, last, step))


def _stored_part(input: Value, start: Dim, stop: Dim) -> Value | None:
    """Return a range of the rows of a stored tensor as a view; None for what is not such a view."""
    stored = input.stored
    if stored is None or stored.transpose or not isinstance(start, int) or not isinstance(stop, int) or start >= stop:
        return None
    before = stored.part[0] if stored.part else 0
    part = stored._replace(part=(before + start, before + stop))
    return Value(input.type.with_shape(stop - start, *input.type.shape[1:]), input.hint, part)


def range_attributes(axis: int, start: Dim, stop: Dim | None, step: Dim) -> dict[str, Any]:
    """Return the attributes of a slice of one axis, without those that are the default."""
    return {"axis": axis, "start": None if start == 0 else start, "stop": stop, "step": None if step == 1 else step}
