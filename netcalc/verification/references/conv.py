"""References of :mod:`netcalc.ops.conv`, after torch.nn.Conv2d; a position is a sum over channels and window."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references._sums import double, mean, plus, total
from netcalc.verification.references._windows import pads_of, placed, positions, source


@reference("conv1d", "conv2d", "conv3d")
def convolution(
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
    pads = pads_of(op.padding, sizes, op.kernel, op.stride, op.dilation)
    corners = placed(sizes, pads, op.kernel, op.stride, op.dilation)
    share, per_group = channels // op.groups, op.out // op.groups

    def at(index: Shape) -> Value:
        unit, *place = index[len(batch) :]
        first = unit // per_group * share
        image = np.moveaxis(x[index[: len(batch)]][first : first + share], 0, -1)
        corner = [starts[i] for starts, i in zip(corners, place, strict=True)]
        kernel = np.moveaxis(_standardized(op, weights[unit]) if op.weight_standardization else weights[unit], 0, -1)
        seen, taps = [], []
        for position, tap in zip(
            positions(corner, op.kernel, op.dilation), product(*map(range, op.kernel)), strict=True
        ):
            sources: list[Any] = [source(p, size, op.padding_mode) for p, size in zip(position, sizes, strict=True)]
            if None not in sources:
                seen.append(image[tuple(sources)])
                taps.append(kernel[tap])
        return plus(total(seen, taps), None if added is None else added[unit])

    return Expected((*batch, op.out, *map(len, corners)), x.dtype.name, at, 2 * share * math.prod(op.kernel))


def _standardized(op: Attributes, kernel: Array) -> Array:
    centered = double(kernel) - mean(kernel)
    standardized: Array = centered / np.sqrt(mean(centered**2) + op.standardization_eps)
    return standardized


@parameters("conv1d", "conv2d", "conv3d")
def convolution_parameters(
    op: Attributes, x: Shape, weight: Shape | None = None, bias: Shape | None = None
) -> dict[str, Shape]:
    channels = x[-len(op.kernel) - 1]
    shapes = {} if weight else {"weight": (op.out, channels // op.groups, *op.kernel)}
    return shapes | ({"bias": (op.out,)} if op.bias and not bias else {})
