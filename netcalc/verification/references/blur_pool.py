"""References of :mod:`netcalc.ops.blur_pool`, after timm.layers.BlurPool2d (Zhang 2019, arXiv:1904.11486)."""

from __future__ import annotations

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference, table
from netcalc.verification.references._sums import total
from netcalc.verification.references._windows import placed, source


@reference("blur_pool2d")
def blur_pool2d(op: Attributes, x: Array, *, filt: Array) -> Expected:
    sizes, size = x.shape[-2:], op.filt_size
    pads = [((s + size - 2) // 2, (s + size - 2) // 2) for s in op.stride]
    tops, lefts = placed(sizes, pads, (size, size), op.stride, (1, 1))

    def at(index: Shape) -> Value:
        plane, channel = x[index[:-2]], index[-3]
        rows, columns = (
            {tap: place for tap in range(size) if (place := source(start + tap, side, op.pad_mode)) is not None}
            for start, side in zip((tops[index[-2]], lefts[index[-1]]), sizes, strict=True)
        )
        weights = filt[channel if op.channels else 0, 0]
        return total(plane[np.ix_([*rows.values()], [*columns.values()])], weights[np.ix_([*rows], [*columns])])

    return Expected((*x.shape[:-2], len(tops), len(lefts)), x.dtype.name, at, 2 * size * size)


@parameters("blur_pool2d")
def filter_shape(op: Attributes, x: Shape) -> dict[str, Shape]:
    return {"filt": (op.channels or 1, 1, op.filt_size, op.filt_size)}


@table("blur_pool2d")
def binomial(op: Attributes, name: str, shape: Shape) -> Expected:
    row = np.ones(1)
    for _ in range(op.filt_size - 1):
        row = np.convolve(row, [0.5, 0.5])
    return Expected((op.channels or 1, 1, op.filt_size, op.filt_size), op.dtype, lambda i: row[i[2]] * row[i[3]])
