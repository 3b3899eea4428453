"""References of :mod:`netcalc.ops.mask`."""

from __future__ import annotations

import math

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("tril")
def tril(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, x.dtype.name, lambda index: x[index] if index[-1] <= index[-2] + op.diagonal else 0)


@reference("triu")
def triu(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, x.dtype.name, lambda index: x[index] if index[-1] >= index[-2] + op.diagonal else 0)


@reference("causal_mask")
def causal_mask(op: Attributes) -> Expected:
    keys = op.queries if op.keys is None else op.keys

    def at(index: Shape) -> bool | float:
        query, key = index
        position = query if op.alignment == "upper_left" else keys - (op.queries - query)
        behind = position - key
        seen = behind >= 0 and (op.window is None or behind <= op.window)
        return seen if op.dtype == "bool" else 0.0 if seen else -math.inf

    return Expected((op.queries, keys), op.dtype, at)
