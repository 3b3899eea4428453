"""Kernels of :mod:`netcalc.ops.fourier`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.opdef import Kind
from netcalc.ops.fourier import Fourier


@kernel("fourier")
def fourier(op: Fourier, run: Run, x: Array) -> Array:
    return transformed(op, run.note, x).astype(x.dtype, copy=False)


def transformed(op: Fourier, note: Callable[[Kind, int], None], x: Array) -> Array:
    """Return the real part of the transform, and note its work."""
    levels = sum((x.shape[axis] - 1).bit_length() for axis in op.axis)
    note("mul", 2 * x.size * levels)
    note("add", 3 * x.size * levels)
    working = np.asarray(wide(x))
    return like(x, np.fft.fftn(working, axes=tuple(op.axis)).real.astype(working.dtype))
