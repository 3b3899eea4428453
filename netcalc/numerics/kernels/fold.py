"""Kernels of :mod:`netcalc.ops.fold`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._windows import overlap, pad, windows
from netcalc.ops.fold import Fold, Unfold


@kernel("unfold")
def unfold(op: Unfold, run: Run, x: Array) -> Array:
    padded = pad(x, op.padding)
    counts = counts_of(op, padded.shape[-2:])
    view = windows(padded, op.kernel, op.stride, op.dilation, counts)
    rows = x.shape[-3] * op.kernel[0] * op.kernel[1]
    return view.reshape(*x.shape[:-3], rows, counts[0] * counts[1])


@kernel("fold")
def fold(op: Fold, run: Run, x: Array) -> Array:
    *batch, rows, _ = x.shape
    counts = counts_of(op, [n + a + b for n, (a, b) in zip(op.output_size, op.padding, strict=True)])
    columns = wide(x).reshape(*batch, rows // (op.kernel[0] * op.kernel[1]), *op.kernel, *counts)
    image = overlap(columns, op.output_size, op.stride, op.dilation, op.padding)
    return image.astype(x.dtype, copy=False)


def counts_of(op: Fold | Unfold, padded: Sequence[int]) -> list[int]:
    """Return the number of windows along each axis of a padded image."""
    every = zip(padded, op.kernel, op.stride, op.dilation, strict=True)
    return [len(range(0, size - d * (k - 1), s)) for size, k, s, d in every]
