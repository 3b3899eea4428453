"""References of :mod:`netcalc.ops.bits`, by the integers of Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._broadcast import converted, operands_of

_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


@reference(*_BITWISE)
def bitwise(op: Attributes, *inputs: Array | None) -> Expected:
    shape, dtype, operands = operands_of(op, inputs)

    def at(index: Shape) -> Any:
        return converted(reduce(_BITWISE[op.name], operands(index)), dtype)

    return Expected(shape, dtype, at)


@reference("bitwise_not")
def inverted(op: Attributes, x: Array) -> Expected:
    if x.dtype.name == "bool":
        return Expected(x.shape, "bool", lambda index: not x[index])
    return Expected(x.shape, x.dtype.name, lambda index: converted(~x[index].item(), x.dtype.name))
