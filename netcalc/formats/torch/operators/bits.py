"""Logic of the bits of integers, and of bools as truth values, and shifts of bits."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.operands import tensor_of
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import in_place, operator_and_in_place

#: Operators on bits by their operators; of bools they are logic.
_BITS = {
    "bitwise_and": ("bitwise_and", "__and__", "__iand__"),
    "bitwise_or": ("bitwise_or", "__or__", "__ior__"),
    "bitwise_xor": ("bitwise_xor", "__xor__", "__ixor__"),
}
_LOGIC = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "not_equal"}


def _bits(build: Builder, operation: str, input: Value | Any, other: Value | Any) -> Value:
    if not all(_is_bool(operand) for operand in (input, other)):
        return combined(build, operation, input, other)
    return build.line(_LOGIC[operation], [tensor_of(build, input, other), tensor_of(build, other, input)])


def _is_bool(operand: Value | Any) -> bool:
    return operand.type.dtype == "bool" if isinstance(operand, Value) else isinstance(operand, bool)


for _operation, (_name, _infix, _augmented) in _BITS.items():
    _rule = partial(_bits, operation=_operation)
    operator_and_in_place(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_rule)
    operator(f"aten.{_name}.Scalar_Tensor", f"aten.{_infix}.Tensor", f"aten.{_infix}.Scalar")(_rule)
    operator(f"aten.{_augmented}.Tensor", f"aten.{_augmented}.Scalar")(in_place(_rule))


@operator_and_in_place("aten.bitwise_not.default")
def bitwise_not(build: Builder, input: Value) -> Value:
    return build.line("logical_not" if _is_bool(input) else "bitwise_not", [input])


def _shifted(operation: str, attributes: dict[str, Any], build: Builder, input: Value, other: Value | Any) -> Value:
    """Multiply by a power of two, or divide by it and round down."""
    if not isinstance(other, Value):
        return build.line(operation, [input], {"value": 2**other, **attributes})
    return build.line(operation, [input, build.line("pow", [other], {"value": 2, "reverse": True})], attributes)


for _names, _operation, _attributes in (
    (("bitwise_left_shift", "__lshift__"), "mul", {}),
    (("bitwise_right_shift", "__rshift__"), "div", {"rounding": "floor"}),
):
    _rule = partial(_shifted, _operation, _attributes)
    operator_and_in_place(f"aten.{_names[0]}.Tensor", f"aten.{_names[0]}.Tensor_Scalar")(_rule)
    operator(f"aten.{_names[1]}.Tensor", f"aten.{_names[1]}.Scalar")(_rule)
