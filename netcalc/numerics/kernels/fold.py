"""Kernels of :mod:`netcalc.ops.fold`."""

from __future__ import annotations

from netcalc.numerics.kernels import Array, Run, kernel, wide
from netcalc.numerics.kernels._windows import overlap, pad, windows
from netcalc.opdef import Context
from netcalc.ops.fold import Fold, Unfold


@kernel("unfold")
def unfold(op: Unfold, run: Run, x: Array) -> Array:
    counts = op.counts(Context(), x.shape[-2:])
    view = windows(pad(x, op.padding), op.kernel, op.stride, op.dilation, counts)
    rows = x.shape[-3] * op.kernel[0] * op.kernel[1]
    return view.reshape(*x.shape[:-3], rows, counts[0] * counts[1])


@kernel("fold")
def fold(op: Fold, run: Run, x: Array) -> Array:
    *batch, rows, _ = x.shape
    counts = op.counts(Context(), op.output_size)
    columns = wide(x).reshape(*batch, rows // (op.kernel[0] * op.kernel[1]), *op.kernel, *counts)
    image = overlap(columns, op.output_size, op.stride, op.dilation, op.padding)
    return image.astype(x.dtype, copy=False)
