"""Kernel of :mod:`netcalc.ops.grid_sample`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.ops.grid_sample import GridSample

#: Parameter of the cubic filter, as in PyTorch.
_A = -0.75


@kernel("grid_sample")
def grid_sample(op: GridSample, run: Run, x: Array, grid: Array) -> Array:
    source, places = wide(x), wide(grid)
    sizes = x.shape[2:]
    every = [list(_taps(op, places[..., -1 - axis], size)) for axis, size in enumerate(sizes)]
    # channels last, with a border of zeros that takes the place of all elements outside the image
    framed = np.zeros((len(x), *(size + 2 for size in sizes), x.shape[1]), source.dtype)
    framed[:, *(slice(1, -1),) * len(sizes)] = np.moveaxis(source, 1, -1)
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


def _taps(op: GridSample, relative: Array, size: int) -> Iterator[tuple[Array, Array | None]]:
    """Yield the index into the framed axis and the weight of each neighbour; no weight for the nearest one."""
    real = relative.dtype.type
    at = (relative + 1) * real((size - 1 if op.align_corners else size) / 2)
    if not op.align_corners:
        at = at - real(0.5)
    if op.mode == "bicubic":
        first = np.floor(at)
        for offset, weight in zip((-1, 0, 1, 2), _cubic_weights(at - first), strict=True):
            yield _framed(_inside(op, first + offset, size), size), weight
        return
    at = _inside(op, at, size)
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


def _inside(op: GridSample, at: Array, size: int) -> Array:
    """Return the positions in the image that stand for ``at``."""
    if op.padding_mode == "zeros":
        return at
    if op.padding_mode == "reflection":
        low, span = (0, size - 1) if op.align_corners else (-0.5, size)
        away = np.abs(at - low)
        beyond = np.fmod(away, span)
        odd = np.remainder(np.floor(away / span), 2) != 0
        at = select(odd, span - beyond, beyond) + low
    return np.fmin(np.fmax(at, 0), size - 1)  # a single element reflects to not-a-number, and stands for itself


def _cubic_weights(t: Array) -> tuple[Array, Array, Array, Array]:
    """Return the weights of the neighbours at −1, 0, 1 and 2 (Keys 1981)."""
    return _far(t + 1), _near(t), _near(1 - t), _far(2 - t)


def _near(x: Array) -> Array:
    return ((_A + 2) * x - (_A + 3)) * x * x + 1


def _far(x: Array) -> Array:
    return ((_A * x - 5 * _A) * x + 8 * _A) * x - 4 * _A
