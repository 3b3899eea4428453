"""Kernel of :mod:`netcalc.ops.grid_sample`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.ops.grid_sample import GridSample

#: Parameter of the cubic filter, as in PyTorch.
A = -0.75


@kernel("grid_sample")
def grid_sample(op: GridSample, run: Run, x: Array, grid: Array) -> Array:
    source, places = wide(x), wide(grid)
    sizes = x.shape[2:]
    every = [list(_taps(op, places[..., -1 - axis], size)) for axis, size in enumerate(sizes)]
    framed = framed_zeros(source.shape, source.dtype)
    framed[interior(len(sizes))] = np.moveaxis(source, 1, -1)
    samples = np.arange(len(x)).reshape(-1, *(1,) * len(sizes))
    y: Array | None = None
    for taps in product(*every):
        values = like(source, framed[samples, *(np.asarray(index) for index, _ in taps)])
        first, *others = (weight for _, weight in taps)
        if first is not None:
            for weight in others:
                first = first * weight
            values = values * first[..., None]
        y = values if y is None else y + values
    assert y is not None
    return np.moveaxis(y, -1, 1).astype(x.dtype, copy=False)


def framed_zeros(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return zeros for an image (N, C, …), channels last, with a border that stands for all elements outside it."""
    return np.zeros((shape[0], *(size + 2 for size in shape[2:]), shape[1]), dtype)


def interior(axes: int) -> tuple[slice, ...]:
    """Return the index of an image in its frame."""
    return (slice(None), *(slice(1, -1),) * axes)


def _taps(op: GridSample, relative: Array, size: int) -> Iterator[tuple[Array, Array | None]]:
    """Yield the index into the framed axis and the weight of each neighbor; no weight for the nearest one."""
    at = position(op, relative, size)
    if op.mode == "bicubic":
        first = np.floor(at)
        yield from cubic_neighbors(op, first, at - first, size)
    else:
        yield from neighbors(op, _positions_inside(op, at, size), size)


def scale(op: GridSample, size: int) -> float:
    """Return the number of elements that a step of 1 in the grid spans."""
    return (size - 1 if op.align_corners else size) / 2


def position(op: GridSample, relative: Array, size: int) -> Array:
    """Return the position along an axis in elements."""
    real = relative.dtype.type
    at: Array = (relative + 1) * real(scale(op, size))
    return at if op.align_corners else at - real(0.5)


def cubic_neighbors(op: GridSample, first: Array, beyond: Array, size: int) -> Iterator[tuple[Array, Array]]:
    """Yield the index into the framed axis and the weight of the four neighbors of ``first + beyond``."""
    for offset, weight in zip((-1, 0, 1, 2), _cubic_weights(beyond), strict=True):
        yield _framed(_positions_inside(op, first + offset, size), size), weight


def neighbors(op: GridSample, at: Array, size: int) -> Iterator[tuple[Array, Array | None]]:
    """Yield the index into the framed axis and the weight of the two neighbors, or of the nearest without weight."""
    if op.mode == "nearest":
        yield _framed(np.rint(at), size), None
        return
    first = np.floor(at)
    beyond = at - first
    yield _framed(first, size), 1 - beyond
    yield _framed(first + 1, size), beyond


def _framed(place: Array, size: int) -> Array:
    """Return the indices of places in an axis framed by zeros; not-a-number is outside."""
    index: Array = (np.fmin(np.fmax(place, -1), size) + 1).astype(np.int64)
    return index


def _positions_inside(op: GridSample, at: Array, size: int) -> Array:
    """Return the positions in the image that stand for ``at``."""
    if op.padding_mode == "zeros":
        return at
    if op.padding_mode == "reflection":
        at, _ = mirrored(op, at, size)
    return clipped(at, size)


def mirrored(op: GridSample, at: Array, size: int) -> tuple[Array, Array]:
    """Return positions in the endless mirror image, and True where an odd number of mirrors lies beyond the first."""
    low, span = first_border(op), size - 1 if op.align_corners else size
    away = np.abs(at - low)
    beyond = np.fmod(away, span)
    odd = np.remainder(np.floor(away / span), 2) != 0
    return select(odd, span - beyond, beyond) + low, odd


def first_border(op: GridSample) -> float:
    """Return the position of the first border of an axis."""
    return 0 if op.align_corners else -0.5


def clipped(at: Array, size: int) -> Array:
    """Return the nearest positions in the image; a single element reflects to not-a-number, and stands for itself."""
    return np.fmin(np.fmax(at, 0), size - 1)


def _cubic_weights(t: Array) -> tuple[Array, Array, Array, Array]:
    """Return the weights of the neighbors at −1, 0, 1 and 2 (Keys 1981)."""
    return _far(t + 1), _near(t), _near(1 - t), _far(2 - t)


def _near(x: Array) -> Array:
    return ((A + 2) * x - (A + 3)) * x * x + 1


def _far(x: Array) -> Array:
    return ((A * x - 5 * A) * x + 8 * A) * x - 4 * A
