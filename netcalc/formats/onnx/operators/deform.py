"""Convolution at moved positions, and maxima of samples in boxes: elements between those of an image."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.lines.windows import plain
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


@operator("DeformConv")
def deform_conv(call: Call) -> Value:
    """Convolution of an image of samples, in which the windows lie side by side, with as many strides as elements."""
    if call.type(0).rank != 4:
        raise RuleError("convolution at moved positions over other than two axes")
    weight = call.x(1)
    n, channels, _, _ = call.shape(0)
    height, width = weight.type.shape[2:]
    rows, columns = call.shape(2)[2:]
    groups, apart = call.attribute("group", 1), call.attribute("offset_group", 1)
    images = reshaped(call.build, call.x(), [n * apart, channels // apart, *call.shape(0)[2:]])
    moved = reshaped(call.build, call.x(2), [n * apart, height, width, 2, rows, columns])
    moved = permuted(call.build, moved, [0, 4, 1, 5, 2, 3])
    moved = reshaped(call.build, moved, [n * apart, rows * height, columns * width, 2])
    # positions of elements are exact numbers more often where the corners are those of the image
    corners = not any(size == 1 for size in call.shape(0)[2:])
    places = [_place(call, moved, axis, (rows, columns)[axis], (height, width)[axis], corners) for axis in (1, 0)]
    points = call.line("stack", places, {"axis": 3})
    samples = call.line("grid_sample", [images, points], {"align_corners": corners or None})
    if call.has(4):
        factors = reshaped(call.build, call.x(4), [n * apart, height, width, rows, columns])
        factors = permuted(call.build, factors, [0, 3, 1, 4, 2])
        factors = reshaped(call.build, factors, [n * apart, 1, rows * height, columns * width])
        samples = call.line("mul", [samples, factors])
    samples = reshaped(call.build, samples, [n, channels, rows * height, columns * width])
    attributes = {
        "out": weight.type.shape[0],
        "kernel": plain([height, width]),
        "stride": plain([height, width]),
        "groups": None if groups == 1 else groups,
    }
    return weighted(call.build, "conv2d", samples, weight, call.optional(3), attributes)


def _place(call: Call, moved: Value, axis: int, count: Any, kernel: Any, corners: bool) -> Value:
    """Return the positions of samples along an axis of the image, from −1 at its beginning to 1 at its end.

    With ``corners`` these are the middles of its first and its last element.
    """
    stride = (call.attribute("strides") or [1, 1])[axis]
    dilation = (call.attribute("dilations") or [1, 1])[axis]
    before = (call.attribute("pads") or [0] * 4)[axis]
    dtype, size = moved.type.dtype, call.shape(0)[2 + axis]
    first = call.line("arange", [], {"start": -before or None, "stop": count * stride - before, "step": stride})
    within = call.line("arange", [], {"stop": kernel * dilation, "step": dilation})
    regular = call.line("add", [call.line("unsqueeze", [first], {"axis": 1}), within])
    regular = reshaped(call.build, cast(call.build, regular, dtype), [count * kernel] if axis else [count * kernel, 1])
    place = call.line("add", [call.line("select", [moved], {"axis": 3, "index": axis}), regular])
    doubled = call.line("mul", [place], {"value": 2.0})
    if not corners:
        doubled = call.line("add", [doubled], {"value": 1.0})
    return call.line("sub", [call.line("div", [doubled], {"value": size - 1 if corners else size})], {"value": 1.0})


def largest_samples(call: Call, way: str) -> Value:
    """Return the largest weighted corner of the samples in each bin of boxes, which is RoiAlign's maximum."""
    ratio, line = call.attribute("sampling_ratio", 0), call.line
    bins = call.attribute("output_height", 1), call.attribute("output_width", 1)
    number, channels = call.shape(1)[0], call.shape(0)[1]
    axes = [_samples(call, axis, bins[axis], ratio, way) for axis in (0, 1)]
    image = reshaped(call.build, cast(call.build, call.x(2), "int64"), [number, 1, 1])
    pixels = permuted(call.build, call.x(), [0, 2, 3, 1])
    weighed = []
    for row, by_row in axes[0].corners:
        for column, by_column in axes[1].corners:
            values = line("index", [pixels, image, row, column], {"axis": [0, 1, 2]})
            share = line("unsqueeze", [line("mul", [by_row, by_column])], {"axis": 3})
            weighed.append(line("mul", [values, share]))
    largest = reduce(lambda a, b: line("maximum", [a, b]), weighed)
    outside = line("logical_or", [axis.outside for axis in axes])
    largest = line("masked_fill", [largest, line("unsqueeze", [outside], {"axis": 3})], {"value": 0.0})
    split = reshaped(call.build, largest, [number, bins[0], ratio, bins[1], ratio, channels])
    return permuted(call.build, line("max", [split], {"axis": [2, 4]}), [0, 3, 1, 2])


class _Samples(NamedTuple):
    """Samples along an axis: the elements on both sides with their weights, and which are outside of the image."""

    corners: list[tuple[Value, Value]]
    outside: Value


def _samples(call: Call, axis: int, bins: int, ratio: int, way: str) -> _Samples:
    """Return the samples in the bins of boxes, (boxes, samples, 1) or (boxes, 1, samples)."""
    line, boxes, size = call.line, call.x(1), call.shape(0)[2 + axis]
    shift, scale = 0.5 if way == "half_pixel" else 0.0, call.attribute("spatial_scale", 1.0)
    ends = [line("select", [boxes], {"axis": 1, "index": place}) for place in (1 - axis, 3 - axis)]
    first, last = (line("sub", [line("mul", [end], {"value": scale})], {"value": shift}) for end in ends)
    length = line("sub", [last, first])
    if way != "half_pixel":
        length = line("clamp", [length], {"min": 1.0})
    count = bins * ratio
    number = cast(call.build, line("arange", [], {"stop": count}), boxes.type.dtype)
    step = line("div", [line("unsqueeze", [length], {"axis": 1})], {"value": count})
    place = line("mul", [step, line("add", [number], {"value": 0.5})])
    place = line("add", [line("unsqueeze", [first], {"axis": 1}), place])
    place = line("unsqueeze", [place], {"axis": 2 - axis})
    sides = [line("less", [place], {"value": -1.0}), line("greater", [place], {"value": size})]
    place = line("clamp", [place], {"min": 0, "max": size - 1})
    low = line("floor", [place])
    high = line("clamp", [line("add", [low], {"value": 1})], {"max": size - 1})
    after = line("sub", [place, low])
    before = line("sub", [after], {"value": 1.0, "reverse": True})
    corners = [(cast(call.build, low, "int64"), before), (cast(call.build, high, "int64"), after)]
    return _Samples(corners, line("logical_or", sides))
