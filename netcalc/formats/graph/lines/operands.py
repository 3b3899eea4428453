"""Operands and attributes of lines: numbers, element types, defaults."""

from __future__ import annotations

from struct import pack, unpack
from typing import Any

from netcalc.dims import Poly
from netcalc.dtypes import FLOATS, DType, complex_of, result_type
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value


def complex_constant(build: Builder, number: complex, like: Value) -> Value:
    """Return a complex number as a tensor without axes, with parts as precise as those of its result with ``like``."""
    value = [number.real, number.imag]
    return build.line("constant", [], {"value": value, "dtype": complex_of(like.type.dtype)})


def cast(build: Builder, value: Value, dtype: DType | None) -> Value:
    """Return a value in an element type; None keeps its own."""
    if dtype is None or value.type.dtype == dtype:
        return value
    return build.line("cast", [value], {"dtype": dtype})


def number_in(build: Builder, operand: Any, others: list[Value]) -> Any:
    """Return the number that an operand is, or None for a tensor.

    A tensor without axes is taken as a number if its value is known, and arithmetic of the number with the other
    operands has the same type.
    """
    if not isinstance(operand, Value):
        return int(operand) if isinstance(operand, bool) else operand
    if operand.type.is_complex or operand.type.shape:
        return None
    value = _known_value(build, operand)
    if value is None or isinstance(value, bool):
        return None
    if operand.type.is_float and not isinstance(value, float):
        value = float(value) if not isinstance(value, Poly) else None
    kind = common_type([*others, operand])
    if value is None or common_type([*others, value]) != kind:
        return None
    wider = isinstance(value, float) and kind == "float64" and operand.type.dtype != kind
    return unpack("f", pack("f", value))[0] if wider else value  # the number that a narrower type has in place of 0.1


def common_type(operands: list[Any]) -> DType:
    """Return the type of arithmetic between tensors and numbers."""
    tensors = [(value.type.dtype, value.type.rank) for value in operands if isinstance(value, Value)]
    return result_type(tensors, *(value for value in operands if not isinstance(value, Value)))


def _known_value(build: Builder, operand: Value) -> Any:
    """Return the value of a tensor without axes, where the source gives it."""
    if operand.stored is not None:
        tensor = build.graph.tensors[operand.stored.path]
        return None if tensor.persistent or tensor.unknown else tensor.value
    return constant_value(build, operand)


def constant_value(build: Builder, value: Value) -> Any:
    """Return the value of a line ``constant``; None for what another line makes."""
    line = build.maker(value)
    return line.attributes["value"] if line is not None and line.operation == "constant" else None


def tensor_of(build: Builder, operand: Any, like: Value) -> Value:
    """Return an operand as a tensor; a number becomes a constant without axes of a type that changes no other."""
    if isinstance(operand, Value):
        return operand
    dtype: DType = like.type.dtype
    if isinstance(operand, float) and dtype not in FLOATS:
        dtype = "float32"
    return build.line("constant", [], {"value": operand, "dtype": dtype})


def single(values: Any) -> Any:
    """Return a list of one axis, size or shift as that one; any other list, or one value, as it is."""
    listed = list(values) if isinstance(values, (list, tuple)) else [values]
    return listed[0] if len(listed) == 1 else listed


def unless_default(value: Any, default: Any) -> Any:
    """Return the value of an attribute, or None, which leaves it out, for its default."""
    return None if value == default else value
