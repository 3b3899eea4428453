"""References of :mod:`netcalc.ops.compare`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._broadcast import (
    broadcast_element,
    broadcast_shape,
    converted,
    folded_type,
    operands_of,
)

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


@reference(*_RELATIONS)
def comparison(op: Attributes, *inputs: Array | None) -> Expected:
    shape, dtype, operands = operands_of(op, inputs)

    def at(index: Shape) -> bool:
        a, b = operands(index)[:2]
        return _RELATIONS[op.name](converted(a, dtype), converted(b, dtype))

    return Expected(shape, "bool", at)


@reference("logical_and", "logical_or")
def logical(op: Attributes, *inputs: Array) -> Expected:
    joined = all if op.name == "logical_and" else any
    return Expected(
        broadcast_shape(*inputs), "bool", lambda index: joined(broadcast_element(x, index) != 0 for x in inputs)
    )


@reference("logical_not")
def logical_not(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, "bool", lambda index: x[index].item() == 0)


@reference("where")
def where(op: Attributes, condition: Array, x: Array, other: Array) -> Expected:
    dtype = folded_type([x, other])

    def at(index: Shape) -> Any:
        return converted(broadcast_element(x if broadcast_element(condition, index) else other, index), dtype)

    return Expected(broadcast_shape(condition, x, other), dtype, at)


@reference("masked_fill")
def masked_fill(op: Attributes, x: Array, mask: Array) -> Expected:
    def at(index: Shape) -> Any:
        return converted(op.value, x.dtype.name) if broadcast_element(mask, index) else broadcast_element(x, index)

    return Expected(broadcast_shape(x, mask), x.dtype.name, at)
