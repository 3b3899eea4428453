"""Kernels of :mod:`netcalc.ops.conv_transpose`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, given, kernel, like, wide
from netcalc.numerics.kernels._windows import overlap
from netcalc.ops.conv_transpose import TransposedConvolution


@kernel("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed(
    op: TransposedConvolution,
    run: Run,
    x: Array,
    filters: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Array:
    batched, weight = wide(x if x.ndim == op.axes + 2 else x[None]), given(filters, weight)
    batch, channels, *sizes = batched.shape
    _, share, *taps = weight.shape
    by_group = weight.reshape(op.groups, channels // op.groups, -1).swapaxes(1, 2)
    columns = np.matmul(by_group, batched.reshape(batch, op.groups, channels // op.groups, -1))
    # The sums of overlapping windows are the additions of the MACs counted above, so they use plain arrays.
    spread = np.asarray(columns).reshape(batch, op.groups * share, *taps, *sizes)
    result = [
        (n - 1) * s - a - b + d * (k - 1) + 1 + extra
        for n, s, (a, b), d, k, extra in zip(
            sizes, op.stride, op.padding, op.dilation, taps, op.output_padding, strict=True
        )
    ]
    y = like(x, overlap(spread, result, op.stride, op.dilation, op.padding))
    if shift is not None or bias is not None:
        y += given(shift, bias).reshape(-1, *(1,) * op.axes)
    return y.reshape(*x.shape[: -op.axes - 1], *y.shape[1:]).astype(x.dtype, copy=False)
