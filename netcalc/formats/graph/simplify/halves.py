"""Patterns of the two halves of the last axis, in the ways in which they are taken and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from netcalc.dims import Dim
from netcalc.formats.graph.model import Line, Value
from netcalc.formats.graph.simplify.pattern import Found, Pattern, either, last_axis, op
from netcalc.formats.graph.simplify.rewriting import Rewriter, source_of

#: Test of a line that takes a part of ``x``, and of the number of its output.
_Test = Callable[[Any, Line, int], bool]


def half(x: str, number: int) -> Pattern:
    """Return the pattern of the first (0) or second (1) half of the features of a value."""

    def test(operation: Any, line: Line, output: int) -> bool:
        size = _features(line)
        first = line.outputs[output].type.shape[-1]
        if 2 * first != size:
            return False
        if line.operation == "slice":
            return _range(operation, size) == ((0, first) if number == 0 else (first, size))
        return len(line.outputs) == 2 and output == number

    return _part_pattern(x, ("slice", "chunk", "split"), test)


def every_other(x: str, number: int) -> Pattern:
    """Return the pattern of the features with even (0) or odd (1) indices."""

    def test(operation: Any, line: Line, output: int) -> bool:
        taken = operation.ranges()
        size = _features(line)
        return bool(taken[0][1:] in ((number, None, 2), (number, size, 2)) and size % 2 == 0)

    def of_pairs(index: Any, line: Line) -> bool:
        (pairs,) = line.inputs
        return pairs is not None and pairs.type.shape[-1] == 2 and index in (number, number - 2)

    split = op("unflatten", x, axis=last_axis, sizes=lambda sizes, line: len(sizes) == 2)
    return either(_part_pattern(x, ("slice",), test), op("select", split, axis=last_axis, index=of_pairs))


def in_front(x: str, name: str) -> Pattern:
    """Return the pattern of the first features of a value; ``name`` is their number."""
    return _named_part(x, name, lambda start, stop, size: stop if start == 0 else None)


def behind(x: str, name: str) -> Pattern:
    """Return the pattern of the features behind the first ones, whose number is ``name``."""
    return _named_part(x, name, lambda start, stop, size: start if stop == size else None)


def joined(first: Pattern, second: Pattern) -> Pattern:
    """Return the pattern of features behind others."""
    return op("concat", first, second, axis=last_axis)


def alternating(first: Pattern, second: Pattern) -> Pattern:
    """Return the pattern of features in turns with others."""
    stacked = op("stack", first, second, axis=lambda axis, line: axis in (-1, line.outputs[0].type.rank - 1))
    return op("flatten", stacked, start_axis=last_but_one, end_axis=last_axis)


def last_but_one(axis: int, line: Line) -> bool:
    """Return True for the axis before the last one of the result."""
    return axis in (-2, line.outputs[0].type.rank - 1)


def _features(line: Line) -> Dim:
    return source_of(line).type.shape[-1]


def _range(operation: Any, size: Dim) -> tuple[Dim, Dim] | None:
    """Return the range of a slice of the last axis; None for one with steps or of several axes."""
    if len(operation.axis) != 1 or set(operation.step) != {1}:
        return None
    ((_, start, stop, _),) = operation.ranges()
    end = size if stop is None or (isinstance(size, int) and isinstance(stop, int) and stop > size) else stop
    ends = (start + size if isinstance(start, int) and start < 0 else start, end)
    return (ends[0], ends[1] + size) if isinstance(ends[1], int) and ends[1] < 0 else ends


def _part_pattern(x: str, operations: tuple[str, ...], test: _Test) -> Pattern:
    """Return the pattern of an output of an operation along the last axis that passes a test."""

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        line = work.maker(value)
        if line is None or line.operation not in operations or line.inputs[0] is None:
            return
        operation: Any = work.operation(line)
        if not last_axis(operation.axis, line) or not test(operation, line, line.outputs.index(value)):
            return
        bound = match.bind(x, line.inputs[0])
        if bound is not None:
            yield bound._replace(lines=(*bound.lines, line))

    return Pattern(matches, operations)


def _named_part(x: str, name: str, count: Callable[[Dim, Dim, Dim], Dim | None]) -> Pattern:
    """Return the pattern of one of two parts of the features; ``count`` gives the size of the first one."""

    def matches(work: Rewriter, value: Value, match: Found) -> Iterator[Found]:
        for half in _part_pattern(x, ("slice", "split", "chunk"), lambda *_: True).matches(work, value, match):
            line = half.lines[-1]
            size = _features(line)
            if line.operation == "slice":
                ends = _range(work.operation(line), size)
                first = None if ends is None else count(*ends, size)
            elif len(line.outputs) == 2:
                widths = [output.type.shape[-1] for output in line.outputs]
                ends = (0, widths[0]) if value is line.outputs[0] else (widths[0], size)
                first = count(*ends, size)
            else:
                first = None
            if first is not None and half.attributes.get(name, first) == first:
                yield half._replace(attributes={**half.attributes, name: first})

    return Pattern(matches, ("slice", "split", "chunk"))
