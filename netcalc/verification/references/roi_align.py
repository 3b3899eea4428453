"""Reference of :mod:`netcalc.ops.roi_align`, after torchvision's roi_align: one sample at a time."""

from __future__ import annotations

import math
from itertools import product

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import total


@reference("roi_align")
def roi_align(op: Attributes, x: Array, boxes: Array) -> Expected:
    height, width = op.output_size
    each = op.sampling_ratio

    def at(index: Shape) -> Value:
        number, channel, row, column = index
        if boxes.ndim == 3:
            image, box = number // boxes.shape[1], boxes[number // boxes.shape[1], number % boxes.shape[1]]
        else:
            image, box = int(boxes[number, 0]), boxes[number, 1:]
        left, top, right, bottom = (float(end) * op.spatial_scale - (0.5 if op.aligned else 0.0) for end in box)
        high, wide = bottom - top, right - left
        if not op.aligned:
            high, wide = max(high, 1.0), max(wide, 1.0)
        elements, weights = [0.0], [0.0]
        for down, across in product(range(each), repeat=2):
            # a sample is in the middle of its part of the bin
            y = top + high / height * (row + (down + 0.5) / each)
            x_ = left + wide / width * (column + (across + 0.5) / each)
            for (i, along), (j, beside) in product(_taps(y, x.shape[2]), _taps(x_, x.shape[3])):
                elements.append(float(x[image, channel, i, j]))
                weights.append(along * beside / each**2)
        summed = total(elements, weights)
        # positions are rounded in the precision of the arithmetic, and the weights with them
        furthest = max(map(abs, (left, top, right, bottom, high, wide)))
        rough = sum(map(abs, elements)) / each**2
        return Value(summed.value, summed.magnitude + rough * (1 + furthest / 4))

    count = len(boxes) if boxes.ndim == 2 else boxes.shape[0] * boxes.shape[1]
    return Expected((count, x.shape[1], height, width), x.dtype.name, at, 4 * each**2)


def _taps(place: float, size: int) -> list[tuple[int, float]]:
    """Return the elements along an axis that a position reads, with their weights."""
    if math.isnan(place):
        return [(0, math.nan)]
    if place < -1 or place > size:
        return [(0, 0.0)]
    place = max(place, 0.0)
    first = int(place)
    if first >= size - 1:
        return [(size - 1, 1.0)]
    return [(first, 1 - (place - first)), (first + 1, place - first)]
