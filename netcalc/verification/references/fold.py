"""References of :mod:`netcalc.ops.fold`, after torch.nn.Unfold and torch.nn.Fold."""

from __future__ import annotations

import math
from itertools import product

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._sums import total
from netcalc.verification.references._windows import placed


@reference("unfold")
def unfold(op: Attributes, x: Array) -> Expected:
    *batch, channels, height, width = x.shape
    tops, lefts = placed((height, width), op.padding, op.kernel, op.stride, op.dilation)

    def at(index: Shape) -> float:
        channel, tap = divmod(index[-2], math.prod(op.kernel))
        i, j = divmod(tap, op.kernel[1])
        top, left = divmod(index[-1], len(lefts))
        row, column = tops[top] + i * op.dilation[0], lefts[left] + j * op.dilation[1]
        inner = 0 <= row < height and 0 <= column < width
        return float(x[(*index[:-2], channel, row, column)]) if inner else 0.0

    return Expected((*batch, channels * math.prod(op.kernel), len(tops) * len(lefts)), x.dtype.name, at)


@reference("fold")
def fold(op: Attributes, x: Array) -> Expected:
    *batch, rows, _ = x.shape
    tops, lefts = placed(op.output_size, op.padding, op.kernel, op.stride, op.dilation)

    def at(index: Shape) -> Value:
        *lead, channel, row, column = index
        terms = []
        for tap, (i, j) in enumerate(product(*map(range, op.kernel))):
            top, left = row - i * op.dilation[0], column - j * op.dilation[1]
            if top in tops and left in lefts:
                place = (channel * math.prod(op.kernel) + tap, tops.index(top) * len(lefts) + lefts.index(left))
                terms.append(x[(*lead, *place)])
        return total(terms)

    reads = math.prod(op.kernel) * (1 + len(tops) + len(lefts))
    return Expected((*batch, rows // math.prod(op.kernel), *op.output_size), x.dtype.name, at, reads)
