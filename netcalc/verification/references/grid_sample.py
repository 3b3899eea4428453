"""Reference of :mod:`netcalc.ops.grid_sample`, after torch's grid_sample: one point of the grid at a time."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import total


@reference("grid_sample")
def grid_sample(op: Attributes, x: Array, grid: Array) -> Expected:
    sizes = x.shape[2:]

    def at(index: Shape) -> Value:
        sample, channel, *place = index
        point = grid[(sample, *place)]
        # the last coordinate of a point belongs to the first axis
        taps = [_taps(op, point[len(sizes) - 1 - axis], size) for axis, size in enumerate(sizes)]
        elements, weights = [0.0], [0.0]
        for chosen in product(*taps):
            where = tuple(position for position, _ in chosen)
            if all(0 <= position < size for position, size in zip(where, sizes, strict=True)):
                elements.append(float(x[(sample, channel, *where)]))
                weights.append(math.prod(weight for _, weight in chosen))
            elif any(math.isnan(weight) for _, weight in chosen):
                elements.append(0.0)
                weights.append(math.nan)
        summed = total(elements, weights)
        # positions are rounded in the precision of the arithmetic, and the weights with them
        furthest = max(size * (1 + abs(float(n))) for size, n in zip(sizes[::-1], point, strict=True))
        return Value(summed.value, summed.magnitude + sum(map(abs, elements)) * (1 + furthest / 8))

    taps = {"nearest": 1, "bilinear": 2, "bicubic": 4}[op.mode] ** len(sizes)
    return Expected((*x.shape[:2], *grid.shape[1:-1]), x.dtype.name, at, taps)


def _taps(op: Attributes, relative: float, size: int) -> list[tuple[int, float]]:
    """Return the positions along an axis that a coordinate reads, with their weights."""
    # −1 and 1 are the centers of the outer elements, or their outer edges
    coordinate = float(relative)
    center = (coordinate + 1) / 2 * (size - 1) if op.align_corners else ((coordinate + 1) * size - 1) / 2
    if op.mode == "bicubic":
        if not math.isfinite(center):
            return [(-1, math.nan)]
        first = math.floor(center)
        return [
            (int(_position_inside(op, place, size)), _cubic(place - center)) for place in range(first - 1, first + 3)
        ]
    center = _position_inside(op, center, size)
    if op.mode == "nearest":
        return [(int(np.rint(center)) if math.isfinite(center) else -1, 1.0)]
    if not math.isfinite(center):
        return [(-1, math.nan)]
    first = math.floor(center)
    return [(first, 1 - (center - first)), (first + 1, center - first)]


def _position_inside(op: Attributes, place: float, size: int) -> float:
    """Return the position in the image whose value a position has; unchanged with ``zeros``."""
    if op.padding_mode == "zeros":
        return place
    if op.padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if op.align_corners else (-0.5, size - 0.5)
        if low == high:
            return 0.0
        place = low + abs((place - low + high - low) % (2 * (high - low)) - (high - low))
    return 0.0 if math.isnan(place) else min(max(place, 0.0), size - 1.0)


def _cubic(x: float) -> float:
    """Return the filter of Keys (1981) with a = −0.75."""
    x = abs(x)
    return 1.25 * x**3 - 2.25 * x**2 + 1 if x < 1 else -0.75 * (x - 1) * (x - 2) ** 2 if x < 2 else 0.0
