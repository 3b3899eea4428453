"""References of :mod:`netcalc.ops.bits`, by the integers of Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from netcalc.arrays import numpy_dtype
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


@reference("bitwise_left_shift", "bitwise_right_shift")
def shifted(op: Attributes, *inputs: Array | None) -> Expected:
    shape, dtype, operands = operands_of(op, inputs)
    width = 8 * numpy_dtype(dtype).itemsize
    left = op.name == "bitwise_left_shift"

    def at(index: Shape) -> Any:
        given = [int(converted(operand, dtype)) for operand in operands(index)]
        number, count = given[::-1] if op.reverse else given
        if not 0 <= count < width:
            count = width
        return converted(number << count if left else number >> count, dtype)

    return Expected(shape, dtype, at)


@reference("bitcast")
def reinterpreted(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> Any:
        return np.frombuffer(np.asarray(x)[index].tobytes(), numpy_dtype(op.dtype))[0].item()

    return Expected(x.shape, op.dtype, at)
