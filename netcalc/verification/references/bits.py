"""References of :mod:`netcalc.ops.bits`, by the integers of Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._broadcast import broadcast_element, broadcast_shape, converted, folded_type

_BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}


@reference(*_BITWISE)
def bitwise(op: Attributes, *inputs: Array | None) -> Expected:
    arrays = [x for x in inputs if x is not None]
    numbers = [] if op.value is None else [op.value]
    dtype = folded_type(arrays, *numbers)

    def at(index: Shape) -> Any:
        operands = [*(broadcast_element(x, index) for x in arrays), *numbers]
        return converted(reduce(_BITWISE[op.name], operands), dtype)

    return Expected(broadcast_shape(*arrays), dtype, at)


@reference("bitwise_not")
def inverted(op: Attributes, x: Array) -> Expected:
    if x.dtype.name == "bool":
        return Expected(x.shape, "bool", lambda index: not x[index])
    return Expected(x.shape, x.dtype.name, lambda index: converted(~x[index].item(), x.dtype.name))
