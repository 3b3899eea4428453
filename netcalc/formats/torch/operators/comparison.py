"""Comparisons, and logic of bools and integers."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import Rule, operator
from netcalc.formats.torch.operators.arithmetic import combined
from netcalc.formats.torch.operators.operands import cast, in_place, operator_and_in_place, tensor_of

#: Comparisons by their operators.
_COMPARISONS = {
    "equal": ("eq",),
    "not_equal": ("ne", "not_equal"),
    "less": ("lt", "less"),
    "less_equal": ("le", "less_equal"),
    "greater": ("gt", "greater"),
    "greater_equal": ("ge", "greater_equal"),
}
#: Operators on bits by their operators; of bools they are logic.
_BITS = {
    "bitwise_and": ("bitwise_and", "__and__", "__iand__"),
    "bitwise_or": ("bitwise_or", "__or__", "__ior__"),
    "bitwise_xor": ("bitwise_xor", "__xor__", "__ixor__"),
}
_LOGIC = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "not_equal"}


def _comparison(operation: str) -> Rule:
    def rule(build: Builder, input: Value, other: Value | Any) -> Value:
        return combined(build, operation, input, other)

    return rule


def _bits(operation: str) -> Rule:
    def rule(build: Builder, input: Value | Any, other: Value | Any) -> Value:
        if not all(_is_bool(operand) for operand in (input, other)):
            return combined(build, operation, input, other)
        operands = [tensor_of(build, input, other), tensor_of(build, other, input)]
        return build.line(_LOGIC[operation], operands)

    return rule


def _is_bool(operand: Value | Any) -> bool:
    return operand.type.dtype == "bool" if isinstance(operand, Value) else isinstance(operand, bool)


for _operation, _names in _COMPARISONS.items():
    for _name in _names:
        operator_and_in_place(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_comparison(_operation))
for _operation, (_name, _infix, _augmented) in _BITS.items():
    operator_and_in_place(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_bits(_operation))
    operator(f"aten.{_name}.Scalar_Tensor")(_bits(_operation))
    operator(f"aten.{_infix}.Tensor", f"aten.{_infix}.Scalar")(_bits(_operation))
    operator(f"aten.{_augmented}.Tensor", f"aten.{_augmented}.Scalar")(in_place(_bits(_operation)))


@operator_and_in_place("aten.bitwise_not.default")
def bitwise_not(build: Builder, input: Value) -> Value:
    return build.line("logical_not" if _is_bool(input) else "bitwise_not", [input])


@operator_and_in_place("aten.logical_not.default")
def logical_not(build: Builder, input: Value) -> Value:
    return build.line("logical_not", [input])


@operator_and_in_place("aten.logical_and.default")
def logical_and(build: Builder, input: Value, other: Value) -> Value:
    return build.line("logical_and", [input, other])


@operator_and_in_place("aten.logical_or.default")
def logical_or(build: Builder, input: Value, other: Value) -> Value:
    return build.line("logical_or", [input, other])


@operator_and_in_place("aten.logical_xor.default")
def logical_xor(build: Builder, input: Value, other: Value) -> Value:
    return build.line("not_equal", [cast(build, operand, "bool") for operand in (input, other)])


@operator("aten.isclose.default")
def isclose(build: Builder, input: Value, other: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    if equal_nan:
        raise RuleError("isclose with equal_nan cannot be expressed")
    distance = build.line("abs", [build.line("sub", [input, other])])
    size = build.line("mul", [build.line("abs", [other])], {"value": rtol})
    near = build.line("less_equal", [distance, build.line("add", [size], {"value": atol})])
    return build.line("logical_or", [near, build.line("equal", [input, other])])
