"""Product of :mod:`netcalc.ops.grid_sample`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.grid_sample import (
    A,
    clipped,
    cubic_neighbors,
    first_border,
    framed_zeros,
    interior,
    mirrored,
    neighbors,
    position,
    scale,
)
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.grid_sample import GridSample


@dataclass(slots=True)
class _Axis:
    """Neighbors of all points along one axis: indices into the framed axis, weights and derivatives of weights.

    A derivative is an array, or None for ±1; ``signs`` are the signs of the derivatives.  ``slope`` multiplies a
    gradient with respect to the position in the image by the derivative of that by the grid.
    """

    indices: list[Array]
    weights: list[Array | None]
    derivatives: list[Array | None]
    signs: Sequence[int]
    slope: Callable[[Array], Array]


@vjp("grid_sample")
def grid_sample(op: GridSample, back: Back, gradient: Array) -> Gradients:
    x, grid, g = wide(back.saved["input"]), wide(back.saved["grid"]), np.moveaxis(wide(gradient), 1, -1)
    gradients: Gradients = {}
    smooth = back.wants(1) and op.mode != "nearest"
    if back.wants(1) and not smooth:
        gradients[1] = np.zeros(back.shape(1), grid.dtype)
    if not back.wants(0) and not smooth:
        return gradients
    axes = [_axis(op, grid[..., -1 - axis], size, smooth) for axis, size in enumerate(x.shape[2:])]
    if back.wants(0):
        gradients[0] = _gradient_of_image(axes, g, x.shape)
    if smooth:
        parts = _gradients_of_positions(axes, g, x)
        slopes = [np.asarray(axis.slope(part)) for axis, part in zip(axes, parts, strict=True)]
        gradients[1] = np.stack(slopes[::-1], axis=-1)
    return gradients


def _axis(op: GridSample, relative: Array, size: int, smooth: bool) -> _Axis:
    at = position(op, relative, size)
    step = at.dtype.type(scale(op, size))
    if op.mode == "bicubic":
        first = np.floor(at)
        beyond = at - first
        indices, weights = zip(*cubic_neighbors(op, first, beyond, size), strict=True)
        derivatives = _cubic_derivatives(beyond) if smooth else ()
        return _Axis([*indices], [*weights], [*derivatives], (1, 1, -1, -1), lambda g: g * step)
    mirror, odd = mirrored(op, at, size) if op.padding_mode == "reflection" else (at, at)
    place = mirror if op.padding_mode == "zeros" else clipped(mirror, size)

    def slope(g: Array) -> Array:
        g = g * step
        if op.padding_mode == "zeros":
            return g
        if op.padding_mode == "reflection":
            g = select((at < first_border(op)) != odd, -g, g)
        return select(mirror > 0, select(mirror < size - 1, g, np.zeros_like(g)), np.zeros_like(g))

    indices, near = zip(*neighbors(op, place, size), strict=True)
    return _Axis([*indices], [*near], [None, None], (-1, 1), slope)


def _by_neighbor(axes: Sequence[_Axis]) -> Iterator[tuple[int, ...]]:
    return product(*(range(len(axis.indices)) for axis in axes))


def _places(axes: Sequence[_Axis], taps: Sequence[int]) -> tuple[Array, ...]:
    """Return the index into the framed image, channels last, of one neighbor of all points."""
    first = axes[0].indices[0]
    samples = np.arange(len(first)).reshape(-1, *(1,) * (first.ndim - 1))
    return samples, *(np.asarray(axis.indices[tap]) for axis, tap in zip(axes, taps, strict=True))


def _gradient_of_image(axes: Sequence[_Axis], g: Array, shape: Sequence[int]) -> Array:
    canvas = framed_zeros(shape, g.dtype)
    flat = like(g, canvas.reshape(-1))
    channels = np.arange(shape[1])
    for taps in _by_neighbor(axes):
        rows = np.ravel_multi_index(np.broadcast_arrays(*_places(axes, taps)), canvas.shape[:-1])
        weights = [w for axis, tap in zip(axes, taps, strict=True) if (w := axis.weights[tap]) is not None]
        values = g * reduce(np.multiply, weights)[..., None] if weights else g
        np.add.at(flat, (rows[..., None] * shape[1] + channels).reshape(-1), values.reshape(-1))
    return np.moveaxis(flat.reshape(canvas.shape)[interior(len(axes))], -1, 1)


def _gradients_of_positions(axes: Sequence[_Axis], g: Array, x: Array) -> list[Array]:
    """Return the gradients by the position in the image along each axis."""
    framed = framed_zeros(x.shape, x.dtype)
    framed[interior(len(axes))] = np.moveaxis(np.asarray(x), 1, -1)
    totals = [like(g, np.zeros(g.shape[:-1], g.dtype)) for _ in axes]
    for taps in _by_neighbor(axes):
        along = np.add.reduce(g * framed[_places(axes, taps)], axis=-1)
        for number, total in enumerate(totals):
            factors = [axis.weights[tap] for axis, tap in zip(axes, taps, strict=True)]
            factors[number] = axes[number].derivatives[taps[number]]
            part = reduce(np.multiply, [along, *(factor for factor in factors if factor is not None)])
            combine = np.add if axes[number].signs[taps[number]] > 0 else np.subtract
            combine(total, part, out=total)
    return totals


def _cubic_derivatives(t: Array) -> tuple[Array, Array, Array, Array]:
    """Return the derivatives by ``t`` of the weights of the neighbors at −1, 0, 1 and 2, the last two negated."""
    return _far(t + 1), _near(t), _near(1 - t), _far(2 - t)


def _near(x: Array) -> Array:
    return (3 * (A + 2) * x - 2 * (A + 3)) * x


def _far(x: Array) -> Array:
    return (3 * A * x - 10 * A) * x + 8 * A
