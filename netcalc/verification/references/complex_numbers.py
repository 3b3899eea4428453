"""References of :mod:`netcalc.ops.complex_numbers`, by Python's complex numbers."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._broadcast import broadcast_element, broadcast_shape

_PARTS = {"complex64": "float32", "complex128": "float64"}
_NUMBERS = {part: number for number, part in _PARTS.items()}

_OF_PARTS: dict[str, Callable[[complex], float]] = {
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "angle": cmath.phase,
}


@reference(*_OF_PARTS)
def part(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, _PARTS[x.dtype.name], lambda index: _OF_PARTS[op.name](x[index].item()))


@reference("conj")
def conjugates(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, x.dtype.name, lambda index: complex(x[index].real, -x[index].imag))


@reference("view_as_real")
def view_as_real(op: Attributes, x: Array) -> Expected:
    def at(index: Shape) -> Any:
        number = x[index[:-1]].item()
        return number.imag if index[-1] else number.real

    return Expected((*x.shape, 2), _PARTS[x.dtype.name], at)


@reference("view_as_complex")
def view_as_complex(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape[:-1], _NUMBERS[x.dtype.name], lambda index: complex(*map(float, x[index])), 2)


@reference("complex", "polar")
def of_two(op: Attributes, x: Array, other: Array) -> Expected:
    def at(index: Shape) -> Any:
        first, second = (broadcast_element(tensor, index) for tensor in (x, other))
        if op.name == "complex":
            return complex(first, second)
        return Value(complex(first * np.cos(second), first * np.sin(second)), abs(first))

    return Expected(broadcast_shape(x, other), _NUMBERS[x.dtype.name], at, 2)
