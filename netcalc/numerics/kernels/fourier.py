"""Kernels of :mod:`netcalc.ops.fourier`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, Run, kernel, like, wide
from netcalc.ops.fourier import Fourier


@kernel("fourier")
def fourier(op: Fourier, run: Run, x: Array) -> Array:
    levels = sum((x.shape[axis] - 1).bit_length() for axis in op.axis)
    run.note("mul", 2 * x.size * levels)
    run.note("add", 3 * x.size * levels)
    given = np.asarray(wide(x))
    return like(x, np.fft.fftn(given, axes=tuple(op.axis)).real.astype(given.dtype))
