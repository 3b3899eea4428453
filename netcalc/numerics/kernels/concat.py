"""Kernels of :mod:`netcalc.ops.concat`."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from netcalc.dtypes import promote
from netcalc.numerics.kernels import Array, Run, kernel, like
from netcalc.numerics.numpy_dtypes import dtype_name, numpy_dtype
from netcalc.opdef import Context
from netcalc.ops.concat import Concat, Splitting, Stack


@kernel("concat")
def concat(op: Concat, run: Run, *inputs: Array) -> Array:
    return like(inputs[0], np.concatenate(_of_one_type(inputs), op.axis))


@kernel("stack")
def stack(op: Stack, run: Run, *inputs: Array) -> Array:
    return like(inputs[0], np.stack(_of_one_type(inputs), op.axis))


@kernel("split", "chunk")
def part(op: Splitting, run: Run, x: Array) -> tuple[Array, ...]:
    *ends, _ = accumulate(op.pieces(Context(), x.shape[op.axis]))
    return tuple(np.split(x, ends, op.axis))


def _of_one_type(inputs: tuple[Array, ...]) -> list[Array]:
    dtype = numpy_dtype(promote(*(dtype_name(x.dtype) for x in inputs)))
    return [x.astype(dtype, copy=False) for x in inputs]
