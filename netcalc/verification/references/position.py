"""References of :mod:`netcalc.ops.position`: rows of a table, and the sines and cosines of Vaswani et al. 2017."""

from __future__ import annotations

import math

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference, table


@reference("sinusoidal_positions", "learned_positions")
def positions(op: Attributes, x: Array, **tables: Array) -> Expected:
    (rows,) = tables.values()

    def at(index: Shape) -> Value:
        row = float(rows[op.offset + index[-2], index[-1]])
        own = float(x[index]) if op.add else 0.0
        return Value(own + row, abs(own) + abs(row))

    return Expected(x.shape if op.add else x.shape[-2:], x.dtype.name, at, 2)


@parameters("learned_positions")
def learned(op: Attributes, x: Shape) -> dict[str, Shape]:
    return {"weight": (op.max_length, x[-1])}


@parameters("sinusoidal_positions")
def sinusoids(op: Attributes, x: Shape) -> dict[str, Shape]:
    rows = op.offset + x[-2] if op.max_length is None else op.max_length
    return {"weight" if op.as_parameter else "pe": (rows, x[-1])}


@table("sinusoidal_positions")
def sinusoid(op: Attributes, name: str, shape: Shape) -> Expected:
    features = shape[1]

    def at(index: Shape) -> float:
        place, feature = index
        halves = op.layout == "halves"
        if halves and feature >= 2 * (features // 2):
            return 0.0
        pair = feature % (features // 2) if halves else feature // 2
        cosine = feature >= features // 2 if halves else feature % 2
        pairs = features // 2 if halves else features / 2
        # with a single pair and a shift the divisor would be 0, and the exponent is
        exponent = pair / (pairs - op.downscale_freq_shift) if pair else 0.0
        angle = place / op.base**exponent
        return math.cos(angle) if cosine else math.sin(angle)

    return Expected(shape, op.dtype, at)
