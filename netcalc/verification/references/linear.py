"""References of :mod:`netcalc.ops.linear`, after torch.nn.Linear and torch.nn.Bilinear."""

from __future__ import annotations

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references._sums import plus, total


@reference("linear")
def linear(
    op: Attributes,
    x: Array,
    matrix: Array | None = None,
    shift: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Expected:
    rows = weight if matrix is None else matrix
    added = bias if shift is None else shift
    assert rows is not None

    def at(index: Shape) -> Value:
        *lead, unit = index
        return plus(total(rows[unit], x[tuple(lead)]), None if added is None else added[unit])

    return Expected((*x.shape[:-1], op.out), x.dtype.name, at, 2 * x.shape[-1])


@parameters("linear")
def linear_parameters(
    op: Attributes, x: Shape, weight: Shape | None = None, bias: Shape | None = None
) -> dict[str, Shape]:
    shapes = {} if weight else {"weight": (op.out, x[-1])}
    return shapes | ({"bias": (op.out,)} if op.bias and not bias else {})


@reference("bilinear")
def bilinear(op: Attributes, x1: Array, x2: Array, *, weight: Array, bias: Array | None = None) -> Expected:
    def at(index: Shape) -> Value:
        *lead, unit = index
        left, right = x1[tuple(lead)].astype(np.float64), x2[tuple(lead)].astype(np.float64)
        return plus(total(np.multiply.outer(left, right), weight[unit]), None if bias is None else bias[unit])

    return Expected((*x1.shape[:-1], op.out), x1.dtype.name, at, 2 * x1.shape[-1] * x2.shape[-1])


@parameters("bilinear")
def bilinear_parameters(op: Attributes, x1: Shape, x2: Shape) -> dict[str, Shape]:
    return {"weight": (op.out, x1[-1], x2[-1])} | ({"bias": (op.out,)} if op.bias else {})
