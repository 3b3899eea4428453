"""Working of convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels._windows import extents, pad
from netcalc.numerics.working import Call, working
from netcalc.numerics.working.text import ROWS, indexed, num, products, rows, total
from netcalc.opdef import WorkingLine
from netcalc.ops.conv import Convolution


@working("conv1d", "conv2d", "conv3d")
def convolution(call: Call) -> Iterator[WorkingLine]:
    """Yield the window of one element of the output, its products with the filter by channel, and their sum.

    Without a place it is the element in the middle, whose window has the least padding.
    """
    op, y, x = call.op, call.outputs[0], call.x
    assert isinstance(op, Convolution)
    weight, bias = call.optional("weight", 1), call.optional("bias", 2)
    assert weight is not None
    if op.weight_standardization:
        flat = weight.reshape(len(weight), -1)
        deviation = np.sqrt(flat.var(axis=1, keepdims=True) + op.standardization_eps)
        weight = ((flat - flat.mean(axis=1, keepdims=True)) / deviation).reshape(weight.shape)
    lead = y.ndim - op.axes
    place = call.place(y.shape, (*(0,) * lead, *(size // 2 for size in y.shape[lead:])))
    sizes = x.shape[-op.axes :]
    padded = pad(x, extents(op.padding, sizes, op.kernel, op.stride, op.dilation), op.padding_mode)
    spots: Any = tuple(
        slice(i * s, i * s + d * (k - 1) + 1, d)
        for i, s, d, k in zip(place[lead:], op.stride, op.dilation, op.kernel, strict=True)
    )
    out, per_group = place[lead - 1], weight.shape[1]
    first = out // (weight.shape[0] // op.groups) * per_group
    own: Any = (*place[: lead - 1], slice(first, first + per_group), *spots)
    window = padded[own]
    yield from _window_lines(window, weight[out], first, out)
    sums = [float((window[c] * weight[out, c]).sum()) for c in range(per_group)]
    terms = list(map(num, sums))
    if bias is not None:
        terms.append(num(bias[out]))
        yield WorkingLine(f"bias[{out}]", "", "", float(bias[out]))
    formula = "sum over channels" + (" + b" if bias is not None else "")
    yield WorkingLine(indexed("y", place), formula, total(terms), float(y[place]))


def _window_lines(window: Array, filters: Array, first: int, out: int) -> Iterator[WorkingLine]:
    """Yield the window and the filter of each of the first channels, and the sum of their products."""
    for channel in range(min(len(window), max(1, ROWS // 2))):
        yield from rows(f"window, channel {first + channel}", window[channel])
        yield from rows(f"weight[{out},{channel}]", filters[channel])
        values, factors = window[channel].reshape(-1), filters[channel].reshape(-1)
        text = total(products(values, factors))
        yield WorkingLine(f"channel {first + channel}", "Σ x·w", text, float(values @ factors))
    if len(window) > ROWS // 2:
        yield WorkingLine("channels …", "", "", f"{len(window) - ROWS // 2:,} more channels")
