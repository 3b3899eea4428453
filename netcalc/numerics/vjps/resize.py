"""Products of :mod:`netcalc.ops.resize`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.resize import filters, nearest, steps
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps.adaptive_pool import unaveraged
from netcalc.ops.resize import Interpolate


@vjp("interpolate")
def interpolate(op: Interpolate, back: Back, gradient: Array) -> Gradients:
    shape, g = back.shape(), wide(gradient)
    if op.mode == "area":
        return {0: unaveraged(g, shape[2:])}
    for axis, out, factor in steps(op, shape):
        canvas = like(g, np.zeros((*g.shape[:axis], shape[axis], *g.shape[axis + 1 :]), g.dtype))
        if op.mode.startswith("nearest"):
            _add(canvas, axis, nearest(op, shape[axis], out, factor, len(shape) - 2), g)
        else:
            places, weights = filters(op, shape[axis], out, factor, g.dtype.type)
            by_place = (-1, *(1,) * (g.ndim - axis - 1))
            for tap in range(places.shape[1]):
                _add(canvas, axis, places[:, tap], g * weights[:, tap].reshape(by_place))
        g = canvas
    return {0: g}


def _add(canvas: Array, axis: int, places: Array, values: Array) -> None:
    """Add values to their places along an axis; the places do not decrease, and may repeat."""
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    index: list[Any] = [slice(None)] * canvas.ndim
    index[axis] = places[starts]
    canvas[tuple(index)] += np.add.reduceat(values, starts, axis=axis)
