"""Kernels of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

import numpy as np

from netcalc.dims import integer
from netcalc.numerics.kernels import Array, Run, kernel
from netcalc.numerics.numpy_dtypes import numpy_dtype
from netcalc.opdef import Context
from netcalc.ops.creation import Arange, BufferTensor, Constant, Parameter


@kernel("parameter", "buffer")
def stored(op: Parameter | BufferTensor, run: Run, **params: Array) -> Array:
    return params[""]  # its path is that of the line


@kernel("constant")
def constant(op: Constant, run: Run) -> Array:
    result = op.infer(Context())
    return np.full(result.shape, op.value, numpy_dtype(result.dtype))


@kernel("arange")
def arange(op: Arange, run: Run) -> Array:
    length = integer(op.infer(Context()).shape[0])
    numbers: Array = op.start + op.step * np.arange(length)
    return numbers.astype(numpy_dtype(op.dtype))
