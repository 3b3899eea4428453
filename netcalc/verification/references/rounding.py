"""References of :mod:`netcalc.ops.rounding`, by Python's exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._broadcast import converted, operands_of

_WHOLE: dict[str, Callable[[Any], int]] = {"floor": math.floor, "ceil": math.ceil, "round": round, "trunc": math.trunc}


@reference(*_WHOLE)
def rounded(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> Any:
        value = x[index].item()
        return _WHOLE[op.name](value) if math.isfinite(value) else value

    return Expected(x.shape, x.dtype.name, at)


def _remainder(op: Attributes, a: Any, b: Any) -> Any:
    """Return a − b·q for the whole quotient q, without rounding where both are finite."""
    if b == 0 or not math.isfinite(a) or math.isnan(b):
        return math.nan
    to_integer = math.floor if op.name == "remainder" else math.trunc
    if math.isinf(b):
        return a if a == 0 or op.name == "fmod" or (a < 0) == (b < 0) else b
    exact = Fraction(a) - Fraction(b) * to_integer(Fraction(a) / Fraction(b))
    return int(exact) if isinstance(a, int) else float(exact)


@reference("remainder", "fmod")
def remainder(op: Attributes, *inputs: Array | None) -> Expected:
    shape, dtype, operands = operands_of(op, inputs)

    def at(index: Shape) -> Any:
        a, b = (converted(value, dtype) for value in operands(index)[:: -1 if op.reverse else 1])
        return converted(_remainder(op, a, b), dtype)

    return Expected(shape, dtype, at)
