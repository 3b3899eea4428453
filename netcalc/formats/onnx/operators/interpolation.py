"""Interpolation along axes by neighbors and their weights, in the ways of ONNX that PyTorch does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, constant
from netcalc.formats.onnx.known import Known


def way_of(call: Call) -> str:
    """Return the name of the way in which elements of the result are placed on an axis."""
    way: str = call.attribute("coordinate_transformation_mode", "half_pixel" if call.version >= 11 else "asymmetric")
    return way


class Axis(NamedTuple):
    """An axis that is resized: its place, its sizes before and after, the factor, and the part of it that is taken."""

    place: int
    old: int
    new: int
    scale: float
    part: tuple[Any, Any] | None = None


def coordinate(way: str, i: int, old: int, new: int, scale: float, part: tuple[float, float] | None = None) -> float:
    """Return the place in an axis that an element of the result shows; RuleError for a way that is not known."""
    width = scale * old  # before it is rounded to the size
    match way:
        case "half_pixel":
            return (i + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (i + 0.5) / scale - 0.5 if width > 1 else 0.0
        case "half_pixel_symmetric":
            return old / 2 * (1 - new / width) + (i + 0.5) / scale - 0.5
        case "align_corners":
            return i * (old - 1) / (width - 1) if width != 1 else 0.0
        case "asymmetric":
            return i / scale
        case "tf_crop_and_resize" if part is not None:
            start, end = part
            middle = (end - start) * (old - 1) / 2
            return start * (old - 1) + (i * (end - start) * (old - 1) / (new - 1) if new > 1 else middle)
    raise RuleError(f"interpolation at coordinates by {way}")


def _linear(distance: float) -> float:
    return max(0.0, 1 - abs(distance))


def _cubic(a: float) -> Callable[[float], float]:
    def weight(distance: float) -> float:
        x = abs(distance)
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0

    return weight


def _settings(call: Call) -> tuple[Callable[[float], float], int]:
    """Return the weight of a neighbor by its distance, and the distance at which it is zero."""
    if call.attribute("mode", "nearest") == "linear":
        return _linear, 1
    return _cubic(call.attribute("cubic_coeff_a", -0.75)), 2


def interpolated(call: Call, x: Value, axes: Sequence[Axis]) -> Value:
    """Return a tensor that is interpolated linearly or cubically along axes, one after the other."""
    way = way_of(call)
    for axis in axes:
        if axis.part is not None and not all(isinstance(end, float) for end in axis.part):
            x = _of_computed_part(call, x, axis)
            continue
        places = [coordinate(way, i, axis.old, axis.new, axis.scale, axis.part) for i in range(axis.new)]
        x = _weighted(call, x, axis, places)
        if axis.part is not None:
            inside = Known("bool", (axis.new,), tuple(0 <= place <= axis.old - 1 for place in places))
            if not all(inside.elements):
                x = _outside_filled(call, x, axis, constant(call.build, inside))
    return x


def _weighted(call: Call, x: Value, axis: Axis, places: Sequence[float]) -> Value:
    """Return the weighted sums of the neighbors of places on an axis."""
    weight, reach = _settings(call)
    narrow = min(axis.scale, 1.0) if call.attribute("antialias", 0) else 1.0
    excludes = bool(call.attribute("exclude_outside", 0))
    rows: list[list[tuple[int, float]]] = []
    for place in places:
        neighbors = range(floor(place - reach / narrow) + 1, ceil(place + reach / narrow))
        row = [(i, weight((i - place) * narrow)) for i in neighbors]
        if excludes:
            row = [(i, share) for i, share in row if 0 <= i < axis.old]
        total = sum(share for _, share in row) if excludes or narrow != 1 else 1.0
        rows.append([(min(max(i, 0), axis.old - 1), share / total) for i, share in row])
    longest = max(map(len, rows))
    rows = [row + [(row[-1][0], 0.0)] * (longest - len(row)) for row in rows]
    after = [1] * (x.type.rank - axis.place - 1)
    result = None
    for number in range(longest):
        shares = tuple(row[number][1] for row in rows)
        chosen = call.line("index_select", [x], {"axis": axis.place, "indices": [row[number][0] for row in rows]})
        factor = constant(call.build, Known(x.type.dtype, (axis.new, *after), shares))
        term = call.line("mul", [chosen, factor])
        result = term if result is None else call.line("add", [result, term])
    assert result is not None
    return result


def _of_computed_part(call: Call, x: Value, axis: Axis) -> Value:
    """Return a tensor interpolated in a part of an axis whose ends are computed."""
    if call.attribute("exclude_outside", 0) or call.attribute("antialias", 0):
        raise RuleError("weights without those outside of a part that depends on data")
    place = computed_places(call, axis)
    lower = call.line("floor", [place])
    weight, reach = _settings(call)
    after = [1] * (x.type.rank - axis.place - 1)
    result = None
    for step in range(1 - reach, reach + 1):
        index = call.line("add", [lower], {"value": step}) if step else lower
        distance = call.line("abs", [call.line("sub", [index, place])])
        share = _computed_weight(call, distance, near=step in (0, 1), is_linear=weight is _linear)
        share = reshaped(call.build, cast(call.build, share, x.type.dtype), [axis.new, *after])
        index = call.line("clamp", [cast(call.build, index, "int64")], {"min": 0, "max": axis.old - 1})
        term = call.line("mul", [call.line("index", [x, index], {"axis": axis.place}), share])
        result = term if result is None else call.line("add", [result, term])
    assert result is not None
    return _outside_filled(call, result, axis, within(call, place, axis))


def computed_places(call: Call, axis: Axis) -> Value:
    """Return the places that the elements of the result show of a part of an axis, whose ends are computed."""
    assert axis.part is not None
    start, end = axis.part
    length = call.line("mul", [call.line("sub", [end, start])], {"value": axis.old - 1})
    first = call.line("mul", [start], {"value": axis.old - 1})
    if axis.new == 1:
        middle = call.line("add", [first, call.line("div", [length], {"value": 2.0})])
        return reshaped(call.build, middle, [1])
    count = call.line("arange", [], {"stop": axis.new, "dtype": "float64"})
    return call.line("add", [first, call.line("div", [call.line("mul", [count, length])], {"value": axis.new - 1})])


def within(call: Call, place: Value, axis: Axis) -> Value:
    """Return which places lie on an axis."""
    sides = [
        call.line("greater_equal", [place], {"value": 0}),
        call.line("less_equal", [place], {"value": axis.old - 1}),
    ]
    return call.line("logical_and", sides)


def _computed_weight(call: Call, distance: Value, *, near: bool, is_linear: bool) -> Value:
    """Return the weight of neighbors at distances, which are at most 1 if they are ``near`` and at most 2 otherwise."""
    if is_linear:
        return call.line("sub", [distance], {"value": 1, "reverse": True})
    a = call.attribute("cubic_coeff_a", -0.75)
    terms = (a + 2, -(a + 3), 0, 1) if near else (a, -5 * a, 8 * a, -4 * a)
    result = call.line("mul", [distance], {"value": terms[0]})
    for number in terms[1:3]:
        result = call.line("mul", [call.line("add", [result], {"value": number}), distance])
    return call.line("add", [result], {"value": terms[3]})


def _outside_filled(call: Call, x: Value, axis: Axis, inside: Value) -> Value:
    """Return a tensor with a number at the elements that show nothing of the axis."""
    inside = reshaped(call.build, inside, [axis.new, *[1] * (x.type.rank - axis.place - 1)])
    number = call.attribute("extrapolation_value", 0.0)
    return call.line("masked_fill", [x, call.line("logical_not", [inside])], {"value": number})
