"""References of :mod:`netcalc.ops.resize`, after torch.nn.functional.interpolate.

An output element is the sum over a filter centered at its position in the input; elements outside repeat the border.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import total
from netcalc.verification.references._windows import touched


class _Axis(NamedTuple):
    """Sizes of an axis before and after, and the factor that positions are computed with, None for their ratio."""

    size: int
    out: int
    factor: float | None


@reference("interpolate")
def interpolate(op: Attributes, x: Array) -> Expected:
    axes = x.ndim - 2
    declared = op.scale_factor if op.size is None else op.size
    each = declared * axes if len(declared) == 1 else declared
    uses_factor = op.size is None and not op.recompute_scale_factor and not op.align_corners
    every = [
        _Axis(size, math.floor(size * n) if op.size is None else n, n if uses_factor else None)
        for size, n in zip(x.shape[2:], each, strict=True)
    ]
    shape = (*x.shape[:2], *(axis.out for axis in every))

    def at(index: Shape) -> Any:
        plane = x[index[:2]]
        if op.mode.startswith("nearest"):
            return plane[tuple(_nearest(op, axis, i, axes) for axis, i in zip(every, index[2:], strict=True))]
        taps = [_weights(op, axis, i) for axis, i in zip(every, index[2:], strict=True)]
        elements, weights = [], []
        for chosen in product(*taps):
            elements.append(plane[tuple(place for place, _ in chosen)])
            weights.append(math.prod(weight for _, weight in chosen))
        summed = total(elements, weights)
        # positions are rounded in the precision of the arithmetic, and the weights with them
        furthest = 0.0 if op.mode == "area" else max(axis.size for axis in every) / 8
        return Value(summed.value, summed.magnitude + furthest * sum(abs(float(element)) for element in elements))

    reads = math.prod(2 * _radius(op) * (axis.size // axis.out + 2) for axis in every)
    return Expected(shape, x.dtype.name, at, 1 if op.mode.startswith("nearest") else reads)


def _nearest(op: Attributes, axis: _Axis, i: int, axes: int) -> int:
    """Return the source position by PyTorch's ``nearest_idx``, whose single precision decides between neighbors."""
    size, out, factor = axis
    if op.mode == "nearest" and axes == 2 and out in (size, 2 * size):
        return i * size // out
    scale = np.float32(size) / np.float32(out) if factor is None else np.float32(1 / factor)
    if op.mode == "nearest":
        return min(int(np.floor(np.float32(i) * scale)), size - 1)
    return min(int(np.floor(np.float32((i + 0.5) * float(scale)))), size - 1)


def _radius(op: Attributes) -> int:
    return {"bicubic": 2, "lanczos": 3}.get(op.mode, 1)


def _weights(op: Attributes, axis: _Axis, i: int) -> list[tuple[int, float]]:
    """Return the positions along an axis that an output element reads, with their weights."""
    size, out, factor = axis
    if op.mode == "area":
        window = touched(i, size, out)
        return [(place, 1 / len(window)) for place in window]
    if op.align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    else:  # a factor does not count where the size is kept, except with the cubic filter
        ratio = factor is None or (out == size and (op.antialias or op.mode != "bicubic"))
        scale = size / out if ratio else 1 / float(factor or 1)
    if op.antialias:
        return _widened_filter(op, size, scale * (i + 0.5), max(scale, 1.0))
    center = scale * i if op.align_corners else scale * (i + 0.5) - 0.5
    if op.mode != "bicubic":
        center = min(max(center, 0.0), size - 1.0)
    shape = _cubic(-0.75) if op.mode == "bicubic" else _hat
    # elements of weight 0 have a part in the rounding: a position that is rounded may give them some
    near = range(math.ceil(center - _radius(op)), math.floor(center + _radius(op)) + 1)
    return [(min(max(place, 0), size - 1), shape(place - center)) for place in near]


def _widened_filter(op: Attributes, size: int, center: float, widening: float) -> list[tuple[int, float]]:
    """Return the filter of a reduction, which spans as many input elements as an output element covers."""
    shapes: dict[str, Callable[[float], float]] = {"bicubic": _cubic(-0.5), "lanczos": _lanczos}
    shape = shapes.get(op.mode, _hat)
    reach = _radius(op) * widening
    near = range(max(math.floor(center - reach), 0), min(math.ceil(center + reach) + 1, size))
    weighted = [(place, shape((place + 0.5 - center) / widening)) for place in near]
    total_weight = math.fsum(weight for _, weight in weighted)
    return [(place, weight / total_weight) for place, weight in weighted]


def _hat(x: float) -> float:
    return max(1 - abs(x), 0.0)


def _cubic(a: float) -> Callable[[float], float]:
    """Return the filter of Keys (1981), from its values and slopes: 1 at 0, slope a at 1, and 0 at 1 and 2."""

    def shape(x: float) -> float:
        x = abs(x)
        if x < 1:
            return (a + 2) * x**3 - (a + 3) * x**2 + 1
        return a * (x - 1) * (x - 2) ** 2 if x < 2 else 0.0

    return shape


def _lanczos(x: float) -> float:
    if abs(x) >= 3:
        return 0.0
    return 1.0 if x == 0 else 3 * math.sin(math.pi * x) * math.sin(math.pi * x / 3) / (math.pi * x) ** 2
