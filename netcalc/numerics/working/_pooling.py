"""The window of one element of the output of a pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels._pooling import windows_of
from netcalc.numerics.kernels._windows import pad
from netcalc.numerics.working import Call


def window(call: Call, op: Any) -> tuple[tuple[int, ...], Array]:
    """Return the place in the output, and the elements of its window; NaN stands for padding."""
    y, x = call.outputs[0], call.x
    lead = y.ndim - op.axes
    place = call.place(y.shape, (*(0,) * lead, *(size // 2 for size in y.shape[lead:])))
    windows = windows_of(op, x.shape[lead:])
    padded = pad(x, windows.reach, value=np.nan)
    spots: Any = tuple(
        slice(i * s, i * s + d * (k - 1) + 1, d)
        for i, s, d, k in zip(place[lead:], windows.stride, windows.dilation, windows.kernel, strict=True)
    )
    index: Any = (*place[:lead], *spots)
    return place, padded[index]
