"""Products of :mod:`netcalc.ops.fold`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._windows import overlap, pad, windows
from netcalc.numerics.kernels.fold import counts_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.fold import Fold, Unfold


@vjp("unfold")
def unfold(op: Unfold, back: Back, gradient: Array) -> Gradients:
    *lead, height, width = back.shape()
    padded = [n + a + b for n, (a, b) in zip((height, width), op.padding, strict=True)]
    columns = wide(gradient).reshape(*lead, *op.kernel, *counts_of(op, padded))
    return {0: overlap(columns, (height, width), op.stride, op.dilation, op.padding)}


@vjp("fold")
def fold(op: Fold, back: Back, gradient: Array) -> Gradients:
    padded = pad(gradient, op.padding)
    view = windows(padded, op.kernel, op.stride, op.dilation, counts_of(op, padded.shape[-2:]))
    return {0: view.reshape(back.shape())}
