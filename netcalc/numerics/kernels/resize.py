"""Kernels of :mod:`netcalc.ops.resize`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels.adaptive_pool import averaged
from netcalc.ops.resize import Interpolate


@kernel("interpolate")
def interpolate(op: Interpolate, run: Run, x: Array) -> Array:
    every = steps(op, x.shape)
    if op.mode == "area":
        return averaged(x, [out for _, out, _ in every])
    if op.mode.startswith("nearest"):
        for axis, out, factor in every:
            x = np.take(x, nearest(op, x.shape[axis], out, factor, x.ndim - 2), axis)
        return x
    y = wide(x)
    for axis, out, factor in reversed(every):
        y = _weighted(y, axis, *filters(op, x.shape[axis], out, factor, y.dtype.type))
    resized: Array = y.astype(x.dtype, copy=False)
    return resized


def steps(op: Interpolate, shape: Sequence[int]) -> list[tuple[int, int, float | None]]:
    """Return each spatial axis with the size of the result along it and the factor of positions, None for the ratio."""
    axes = len(shape) - 2
    scales = (op.scale_factor or ()) * (axes // len(op.scale_factor or (1,)))
    if op.size is None:
        sizes = [math.floor(size * scale) for size, scale in zip(shape[2:], scales, strict=True)]
    else:
        sizes = [*op.size] * (axes // len(op.size))
    by_ratio = op.scale_factor is None or op.recompute_scale_factor or op.align_corners
    return list(zip(range(2, len(shape)), sizes, (None,) * axes if by_ratio else scales, strict=True))


def nearest(op: Interpolate, size: int, out: int, factor: float | None, axes: int) -> Array:
    """Return the source index of each element of the result, in PyTorch's single precision."""
    place = np.arange(out)
    if axes == 2 and op.mode == "nearest" and out in (size, 2 * size):
        return place * size // out  # PyTorch's kernel for images ignores the factor here
    scale = np.float32(size) / np.float32(out) if factor is None else np.float32(1 / factor)
    if op.mode == "nearest":
        positions = np.floor(place.astype(np.float32) * scale)
    else:
        positions = np.floor(((place + 0.5) * np.float64(scale)).astype(np.float32))
    places: Array = np.minimum(positions.astype(np.int64), size - 1)
    return places


def _weighted(x: Array, axis: int, places: Array, weights: Array) -> Array:
    """Return the weighted sums of x at ``places`` (out, taps) along one axis."""
    shape = [1] * x.ndim
    shape[axis] = len(places)
    y: Array = np.take(x, places[:, 0], axis) * weights[:, 0].reshape(shape)
    for tap in range(1, places.shape[1]):
        y += np.take(x, places[:, tap], axis) * weights[:, tap].reshape(shape)
    return y


def filters(op: Interpolate, size: int, out: int, factor: float | None, real: type[Any]) -> tuple[Array, Array]:
    """Return the source indices (out, taps) of each element of the result, and their weights, in type ``real``."""
    place = np.arange(out, dtype=real)
    if op.align_corners:
        scale = real(size - 1) / real(out - 1) if out > 1 else real(0)
    elif factor is None or (out == size and (op.antialias or op.mode != "bicubic")):
        scale = real(size) / real(out)
    else:
        scale = real(1 / factor)
    taps = _filter_width(op, size, out, factor)
    if op.antialias:
        return _antialiased(op, size, place, scale, taps)
    at = scale * place if op.align_corners else scale * (place + real(0.5)) - real(0.5)
    if op.mode != "bicubic":
        at = np.maximum(at, 0)
    first = np.minimum(np.floor(at), size - 1)
    beyond = np.clip(at - first, 0, 1)
    offsets = np.arange(1 - _radius(op), _radius(op) + 1, dtype=real)
    places = np.clip(first[:, None] + offsets, 0, size - 1).astype(np.int64)
    return places, _FILTERS[op.mode](beyond[:, None] - offsets)


def _radius(op: Interpolate) -> int:
    """Return the number of elements to each side of a position that the filter spans."""
    return {"bicubic": 2, "lanczos": 3}.get(op.mode, 1)


def _filter_width(op: Interpolate, size: int, out: int, factor: float | None) -> int:
    """Return the number of elements that the filter spans along an axis."""
    reach = radius = _radius(op)
    if not op.antialias:
        return 2 * radius
    if factor is not None:
        reach = math.ceil(radius / factor)
    elif not op.align_corners:
        reach = -(-radius * size // out)
    elif out > 1:
        reach = -(-radius * (size - 1) // (out - 1))
    return 2 * max(radius, reach) + 1


def _antialiased(op: Interpolate, size: int, place: Array, scale: Any, taps: int) -> tuple[Array, Array]:
    real = place.dtype.type
    widening = np.maximum(scale, real(1))
    center = scale * (place + real(0.5))
    reach = _radius(op) * widening
    start = np.maximum((center - reach + real(0.5)).astype(np.int64), 0)
    end = np.minimum((center + reach + real(0.5)).astype(np.int64), size)
    places = start[:, None] + np.arange(taps)
    name = "antialiased bicubic" if op.mode == "bicubic" else op.mode
    weights = _FILTERS[name]((places.astype(real) - center[:, None] + real(0.5)) / widening)
    weights = np.where(places < end[:, None], weights, real(0))
    return np.minimum(places, size - 1), weights / weights.sum(axis=1, keepdims=True)


# -- filters, functions of the distance in elements -------------------------------------------------------------


def _hat(x: Array) -> Array:
    weights: Array = np.maximum(1 - np.abs(x), 0)
    return weights


def _cubic(x: Array, a: float) -> Array:
    """Return the cubic convolution filter of Keys (1981)."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


def _lanczos(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0).astype(x.dtype)


_FILTERS: dict[str, Callable[[Array], Array]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), _hat),
    "bicubic": partial(_cubic, a=-0.75),
    "antialiased bicubic": partial(_cubic, a=-0.5),
    "lanczos": _lanczos,
}
