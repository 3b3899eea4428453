"""Kernels of :mod:`netcalc.ops.concat`."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like
from netcalc.numerics.kernels._promotion import common_dtype
from netcalc.ops.concat import Chunk, Concat, Split, Stack


@kernel("concat")
def concat(op: Concat, run: Run, *inputs: Array) -> Array:
    return like(inputs[0], np.concatenate(_of_one_type(inputs), op.axis))


@kernel("stack")
def stack(op: Stack, run: Run, *inputs: Array) -> Array:
    return like(inputs[0], np.stack(_of_one_type(inputs), op.axis))


@kernel("split", "chunk")
def part(op: Split | Chunk, run: Run, x: Array) -> tuple[Array, ...]:
    return tuple(np.split(x, _ends(op, x.shape[op.axis]), op.axis))


def _ends(op: Split | Chunk, size: int) -> list[int]:
    """Return the ends of all pieces of an axis but the last."""
    if isinstance(op, Chunk):
        if size % op.chunks == 0:  # also without elements
            return [size // op.chunks * number for number in range(1, op.chunks)]
        return [*range(-(-size // op.chunks), size, -(-size // op.chunks))]
    if isinstance(op.sizes, tuple):
        return [*accumulate(op.sizes[:-1])]
    return [*range(op.sizes, size, op.sizes)]


def _of_one_type(inputs: tuple[Array, ...]) -> list[Array]:
    dtype = common_dtype(*(x.dtype for x in inputs))
    return [x.astype(dtype, copy=False) for x in inputs]
