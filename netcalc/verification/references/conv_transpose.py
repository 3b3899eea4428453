"""References of :mod:`netcalc.ops.conv_transpose`, after torch.nn.ConvTranspose2d.

Input element i and tap t of the kernel meet in the output at i·stride + t·dilation − padding.  A position gathers all
pairs that meet there.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references._sums import plus, total


@reference("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed(
    op: Attributes,
    x: Array,
    filters: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Expected:
    axes = len(op.kernel)
    *batch, channels = x.shape[:-axes]
    sizes = x.shape[-axes:]
    weights, added = weight if filters is None else filters, bias if shift is None else shift
    assert weights is not None
    share, per_group = channels // op.groups, op.out // op.groups
    ends = [  # one past the last meeting
        range(0, size * s, s)[-1] + range(0, k * d, d)[-1] + 1
        for size, s, k, d in zip(sizes, op.stride, op.kernel, op.dilation, strict=True)
    ]
    shape = [
        end - before - after + extra
        for end, (before, after), extra in zip(ends, op.padding, op.output_padding, strict=True)
    ]

    def at(index: Shape) -> Value:
        unit, *place = index[len(batch) :]
        first, within = unit // per_group * share, unit % per_group
        image = np.moveaxis(x[index[: len(batch)]][first : first + share], 0, -1)
        kernel = np.moveaxis(weights[first : first + share, within], 0, -1)
        seen, taps = [], []
        for tap in product(*map(range, op.kernel)):
            reached = [
                divmod(p + before - t * d, s)
                for p, (before, _), t, d, s in zip(place, op.padding, tap, op.dilation, op.stride, strict=True)
            ]
            if all(not rest and 0 <= i < size for (i, rest), size in zip(reached, sizes, strict=True)):
                seen.append(image[tuple(i for i, _ in reached)])
                taps.append(kernel[tap])
        return plus(total(seen, taps), None if added is None else added[unit])

    return Expected((*batch, op.out, *shape), x.dtype.name, at, 2 * share * math.prod(op.kernel))


@parameters("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed_parameters(
    op: Attributes, x: Shape, weight: Shape | None = None, bias: Shape | None = None
) -> dict[str, Shape]:
    channels = x[-len(op.kernel) - 1]
    shapes = {} if weight else {"weight": (channels, op.out // op.groups, *op.kernel)}
    return shapes | ({"bias": (op.out,)} if op.bias and not bias else {})
