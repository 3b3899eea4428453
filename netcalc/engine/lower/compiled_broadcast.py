"""A function of two tensors of which one is broadcast, by the compiled kernel of epilogues."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.engine.lower.passes import Pass
from netcalc.engine.native.epilogue import BINARY, REVERSED, Operation, epilogue
from netcalc.engine.native.library import available

#: Calls for a tile, at most: of parts in which the second operand is a vector or rows.
_MOST_CALLS = 64


def broadcast_passes(ufunc: Callable[..., object], first: Array, second: Array, out: Array) -> list[Pass] | None:
    """Return the passes that compute ``out`` from two arrays of its shape; None if the kernel does not take them.

    Args:
        ufunc: the function.
        first: its first operand, with strides of 0 along axes that are broadcast.
        second: its second operand.
        out: the result.
    """
    arrays, name = [first, second, out], ufunc.__name__
    if not available() or name not in BINARY or any(array.dtype != np.float32 for array in arrays) or out.size == 1:
        return None
    shape, strides = _merged_axes(out.shape, [array.strides for array in arrays])
    if any(steps[-1] != out.itemsize for steps in strides) or math.prod(shape[:-2]) > _MOST_CALLS:
        return None
    first, second, out = (as_strided(array, shape, steps) for array, steps in zip(arrays, strides, strict=True))
    if first.strides[-2] == 0:
        first, second, name = second, first, REVERSED.get(name, name)
    passes: list[Pass] = []
    for place in np.ndindex(*shape[:-2]):
        rows = second[place]
        vector = rows.strides[0] == 0 and len(rows) > 1
        passes.append(epilogue(first[place], out[place], [Operation(name, rows[0] if vector else rows)]))
    return passes


def _merged_axes(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return shape and strides of arrays, with neighboring axes merged where they are one axis of each array."""
    axes: list[tuple[int, tuple[int, ...]]] = []
    for size, steps in zip(shape, zip(*strides, strict=True), strict=True):
        if size == 1:
            continue
        if axes and all(outer == inner * size for outer, inner in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = (axes[-1][0] * size, steps)
        else:
            axes.append((size, steps))
    if len(axes) < 2:
        axes.insert(0, (1, (0,) * len(strides)))
    return tuple(size for size, _ in axes), [tuple(steps) for steps in zip(*(steps for _, steps in axes), strict=True)]
