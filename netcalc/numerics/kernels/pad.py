"""Kernels of :mod:`netcalc.ops.pad`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel
from netcalc.ops.pad import Pad


@kernel("pad")
def pad(op: Pad, run: Run, x: Array) -> Array:
    axes = range(x.ndim - len(op.padding), x.ndim) if op.axis is None else op.axis
    for axis, (before, after) in zip(axes, op.padding, strict=True):
        size = x.shape[axis]
        places = np.arange(-before, size + after)
        if op.mode == "constant":
            x = _taken_or_filled(x, axis, places, op.value)
            continue
        if op.mode == "reflect":
            places = np.abs(places)
            places = size - 1 - np.abs(size - 1 - places)
        elif op.mode == "circular":
            start, end = max(-before, 0), size + min(after, 0)
            places = start + (places - start) % (end - start)
        x = np.take(x, np.clip(places, 0, size - 1), axis)
    return x


def _taken_or_filled(x: Array, axis: int, places: Array, value: float) -> Array:
    """Return ``x`` at ``places`` along an axis, and ``value`` for indices out of range."""
    y = np.take(x, np.clip(places, 0, x.shape[axis] - 1), axis)
    index: list[Any] = [slice(None)] * x.ndim
    index[axis] = (places < 0) | (places >= x.shape[axis])
    y[tuple(index)] = value
    return y
