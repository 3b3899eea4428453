"""References of :mod:`netcalc.ops.arithmetic`, by Python's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._broadcast import converted, folded_type, operands_of


def _least(values: list[Any]) -> Any:
    return math.nan if any(v != v for v in values) else min(values)


def _largest(values: list[Any]) -> Any:
    return math.nan if any(v != v for v in values) else max(values)


def _product(values: list[Any]) -> Any:
    return reduce(_times, values)


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, complex) or isinstance(b, complex):
        return np.complex128(a) * b
    return np.float64(a) * b if isinstance(a, float) or isinstance(b, float) else a * b


_VARIADIC: dict[str, Callable[[list[Any]], Any]] = {"add": sum, "mul": _product, "minimum": _least, "maximum": _largest}


def _is_inexact(dtype: str) -> bool:
    return "float" in dtype or "complex" in dtype


def _converted(op: Attributes, operands: list[Any], dtype: str, *, number: bool) -> list[Any]:
    """Return two operands in an element type; the second as it is if it is the ``number`` of a product or quotient."""
    exact = number and op.name in ("mul", "div") and _is_inexact(dtype)
    first, second = operands
    return [converted(first, dtype), float(second) if exact else converted(second, dtype)]


@reference(*_VARIADIC)
def variadic(op: Attributes, *inputs: Array | None) -> Expected:
    shape, last, operands = operands_of(op, inputs)
    arrays = [x for x in inputs if x is not None]
    # from left to right: what the first operands give is of their type, before the others raise it
    types = [folded_type(arrays[:count]) for count in range(1, len(arrays) + 1)]
    types += [] if op.value is None else [last]

    def at(index: Shape) -> Any:
        result, *others = operands(index)
        magnitude = abs(result)
        for stage, (other, dtype) in enumerate(zip(others, types[1:], strict=True), 1):
            operands_here = _converted(op, [result, other], dtype, number=stage == len(arrays))
            result = converted(_VARIADIC[op.name](operands_here), dtype)
            magnitude += abs(other)
        return Value(result, magnitude) if _is_inexact(last) else result

    return Expected(shape, last, at)


def _quotient(op: Attributes, a: Any, b: Any, dtype: str) -> Any:
    if op.rounding is None and "complex" in dtype:
        return a * complex(b).conjugate() / np.float64(abs(b) ** 2)
    if op.rounding is None:
        return np.float64(a) / np.float64(b)
    if "int" in dtype:
        exact = Fraction(a, b)
        return math.floor(exact) if op.rounding == "floor" else math.trunc(exact)
    if op.rounding == "floor" and math.isinf(a) and b != 0:
        return math.nan  # of the remainder, as in PyTorch
    if not (math.isfinite(a) and math.isfinite(b)) or b == 0:
        return np.floor(np.float64(a) / np.float64(b))
    if op.rounding == "floor":
        return math.floor(Fraction(a) / Fraction(b))
    return math.trunc(converted(a / b, "float64" if dtype == "float64" else "float32"))


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return a**b if b >= 0 else {1: 1, -1: (-1) ** -b}.get(a, 0)
    if isinstance(a, complex) or isinstance(b, complex):
        return np.complex128(a) ** np.complex128(b)
    return np.float64(a) ** np.float64(b)


@reference("sub", "div", "pow")
def pair(op: Attributes, *inputs: Array | None) -> Expected:
    shape, dtype, operands = operands_of(op, inputs)
    result = "float32" if op.name == "div" and op.rounding is None and not _is_inexact(dtype) else dtype

    def at(index: Shape) -> Any:
        a, b = _converted(op, operands(index), dtype, number=op.value is not None)[:: -1 if op.reverse else 1]
        if op.name == "sub":
            return Value(a - b, abs(a) + abs(b)) if _is_inexact(dtype) else converted(a - b, dtype)
        computed = _quotient(op, a, b, dtype) if op.name == "div" else _power(a, b)
        return computed if _is_inexact(result) else converted(computed, result)

    return Expected(shape, result, at)
