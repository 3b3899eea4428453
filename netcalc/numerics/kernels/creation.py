"""Kernels of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array, array_of, numpy_dtype
from netcalc.numerics.kernels import Run, kernel
from netcalc.ops.creation import Arange, BufferTensor, Constant, LinearWeight, Parameter


@kernel("parameter", "linear_weight", "buffer")
def stored(op: Parameter | LinearWeight | BufferTensor, run: Run, **params: Array) -> Array:
    (content,) = params.values()
    return content


@kernel("constant")
def constant(op: Constant, run: Run) -> Array:
    numbers = np.asarray(op.value)
    dtype = numpy_dtype(op.dtype or {"b": "bool", "f": "float32"}.get(numbers.dtype.kind, "int64"))
    content = array_of(op.value, dtype)
    return np.full(content.shape if op.shape is None else op.shape, content)


@kernel("arange")
def arange(op: Arange, run: Run) -> Array:
    numbers = (op.start, op.stop, op.step)
    fractional = any(isinstance(number, float) for number in numbers)
    length = math.ceil((op.stop - op.start) / op.step) if fractional else len(range(*numbers))
    elements: Array = op.start + (op.step if length > 1 else 0) * np.arange(length)
    return elements.astype(numpy_dtype(op.dtype))
