"""References of :mod:`netcalc.ops.creation`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, parameters, reference
from netcalc.verification.references._broadcast import converted
from netcalc.verification.references._promotion import promoted


@reference("parameter", "linear_weight", "buffer")
def stored(op: Attributes, **params: Array) -> Expected:
    (content,) = params.values()
    return Expected(content.shape, content.dtype.name, lambda index: content[index])


@parameters("parameter")
def parameter_shape(op: Attributes) -> dict[str, Shape]:
    return {"": tuple(op.shape)}


@parameters("linear_weight")
def weight_shape(op: Attributes) -> dict[str, Shape]:
    return {"weight": (op.out, op.features)}


def _nesting(value: Any) -> Shape:
    return (len(value), *_nesting(value[0])) if isinstance(value, tuple) else ()


def _value_shape(value: Any, dtype: str | None) -> Shape:
    """Return the shape of a value, of complex numbers without the pairs of their parts."""
    shape = _nesting(value)
    return shape[:-1] if dtype is not None and dtype.startswith("complex") else shape


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]


@parameters("buffer")
def buffer_shape(op: Attributes) -> dict[str, Shape]:
    if op.computed is not None:
        return {"": op.computed.shape}
    return {"": _value_shape(op.value, op.dtype) if op.shape is None else tuple(op.shape)}


@reference("constant")
def constant(op: Attributes) -> Expected:
    kinds = {bool: "bool", int: "int64", float: "float32"}
    dtype = op.dtype or promoted(*(kinds[type(leaf)] for leaf in _leaves(op.value)))

    def at(index: Shape) -> Any:
        value = op.value
        for place in index if _value_shape(value, dtype) else ():
            value = value[place]
        return converted(complex(*value) if isinstance(value, tuple) else value, dtype)

    return Expected(_value_shape(op.value, dtype) if op.shape is None else tuple(op.shape), dtype, at)


@reference("arange")
def arange(op: Attributes) -> Expected:
    start, stop, step = (Fraction(number) for number in (op.start, op.stop, op.step))
    length = math.ceil((stop - start) / step)
    if any(isinstance(number, float) for number in (op.start, op.stop, op.step)):
        length = math.ceil((float(stop) - float(start)) / float(step))  # in double precision, as torch.arange

    def at(index: Shape) -> Any:
        value = start + step * index[0]
        return converted(int(value) if "int" in op.dtype else float(value), op.dtype)

    return Expected((length,), op.dtype, at)
