"""The same elements in another shape: merged axes, split axes, axes of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from netcalc.dims import Dim, Poly, UndecidedError, product, value_at
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value


def merged(build: Builder, input: Value, first: int, last: int) -> Value:
    """Return a value whose axes from ``first`` to ``last`` are joined into one."""
    if first == last:
        return input
    attributes = {
        "start_axis": None if first == 1 else first,
        "end_axis": None if last == input.type.rank - 1 else last,
    }
    return build.line("flatten", [input], attributes)


def split(build: Builder, input: Value, axis: int, sizes: Sequence[Dim], written: Sequence[Any] = ()) -> Value:
    """Return a value with an axis split into ``sizes``, written as ``written`` if that leaves a size open."""
    if len(sizes) == 1:
        return input
    if len(sizes) == 2 and 1 in sizes:
        return build.line("unsqueeze", [input], {"axis": axis if sizes[0] == 1 else axis + 1})
    return build.line("unflatten", [input], {"axis": axis, "sizes": written if -1 in written else opened(sizes)})


def opened(sizes: Sequence[Dim]) -> list[Any]:
    """Return sizes with one of them open, as -1: a symbolic one, or one that is likely to depend on the model's width.

    Small numbers are counts, as of query, key and value, and are kept.
    """
    listed = list(sizes)
    if 0 in listed:
        return listed
    for wanted in (_symbolic, _only_size(listed), lambda size: isinstance(size, int) and size > 4):
        open_place = next((place for place, size in enumerate(listed) if wanted(size)), None)
        if open_place is not None:
            return [*listed[:open_place], -1, *listed[open_place + 1 :]]
    return [*listed[:-1], -1]


def _symbolic(size: Dim) -> bool:
    return isinstance(size, Poly)


def _only_size(sizes: Sequence[Dim]) -> Any:
    """Return a test for the only size other than 1, which no size passes if there are several."""
    return lambda size: size != 1 and len(sizes) - sizes.count(1) == 1


class _Group(NamedTuple):
    """Axes of the input, from ``start`` to ``stop``, that become axes of the result with the same elements."""

    start: int
    stop: int
    new_start: int
    new_stop: int

    @property
    def counts(self) -> tuple[int, int]:
        """Number of axes, in the input and in the result."""
        return self.stop - self.start, self.new_stop - self.new_start


def reshaped(build: Builder, input: Value, sizes: Sequence[Any]) -> Value:
    """Return the elements in another shape, by operations that name as few sizes as possible."""
    shape = input.type.shape
    target = filled_sizes(sizes, input.type.elements)
    if shape == target:
        return input
    groups = _groups(shape, target)
    changed = [group for group in groups if group.counts != (1, 1)]
    single = len(changed) == 1 and 1 in changed[0].counts
    several_symbols = sum(map(_symbolic, target)) > 1
    if (single or several_symbols) and all(min(group.counts) > 0 for group in groups):
        for group in reversed(changed):  # the last first, so that numbers of axes before it stay
            requested = list(sizes[group.new_start : group.new_stop])
            input = merged(build, input, group.start, group.stop - 1)
            input = split(build, input, group.start, target[group.new_start : group.new_stop], requested)
        return input
    return build.line("reshape", [input], {"shape": _with_open_size(list(sizes), list(target))})


def _with_open_size(sizes: list[Any], target: list[Any]) -> list[Any]:
    if -1 in sizes or not target or 0 in target:
        return sizes
    place = next((place for place, size in enumerate(target) if _symbolic(size)), 0)
    return [*target[:place], -1, *target[place + 1 :]]


def filled_sizes(sizes: Sequence[Any], elements: Dim) -> tuple[Dim, ...]:
    """Return sizes with an open one, of -1, computed from the number of elements."""
    fixed = product(size for size in sizes if size != -1)
    return tuple(elements // fixed if size == -1 else size for size in sizes)


def _groups(shape: Sequence[Dim], target: Sequence[Dim]) -> list[_Group]:
    """Return the finest division of the axes of both shapes into groups with equal products, from the front."""
    groups: list[_Group] = []
    start = new_start = 0
    while start < len(shape) and new_start < len(target):
        stop, new_stop = start + 1, new_start + 1
        while (old := product(shape[start:stop])) != (new := product(target[new_start:new_stop])):
            grow = _is_less(old, new)
            if stop < len(shape) and (grow is not False or new_stop == len(target)):
                stop += 1
            elif new_stop < len(target):
                new_stop += 1
            else:
                break
        groups.append(_Group(start, stop, new_start, new_stop))
        start, new_start = stop, new_stop
    last = groups.pop() if groups else _Group(0, 0, 0, 0)
    return [*groups, _Group(last.start, len(shape), last.new_start, len(target))]  # with axes of size 1 at the end


def _is_less(a: Dim, b: Dim) -> bool | None:
    """Return the order of two sizes at their defaults; None if they are equal there, or have none."""
    try:
        first, second = value_at(a, {}), value_at(b, {})
    except UndecidedError:
        return None
    return None if first == second else bool(first < second)
