"""Functions of each element, and arithmetic and comparisons of tensors."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from netcalc.dims import Poly
from netcalc.dtypes import FLOATS, INTEGERS
from netcalc.formats.graph.lines.elementwise import combined
from netcalc.formats.graph.lines.expand import broadcast_shape
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, scalar_for
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.operators import operator

#: Operations of one tensor without attributes, by operator.
_FUNCTIONS = {
    **{name.capitalize(): name for name in ("abs", "neg", "exp", "log", "sqrt", "reciprocal", "sign", "floor", "ceil")},
    **{name.capitalize(): name for name in ("round", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh")},
    **{name.capitalize(): name for name in ("asinh", "acosh", "atanh", "erf", "sigmoid", "tanh", "relu", "softplus")},
    "Softsign": "softsign",
    "Not": "logical_not",
    "HardSwish": "hardswish",
    "Mish": "mish",
    "BitwiseNot": "bitwise_not",
}


def _function(operation: str, call: Call) -> Value:
    result = call.line(operation, [call.x()])
    return cast(call.build, result, call.type(0).dtype if operation != "logical_not" else "bool")


for _name, _operation in _FUNCTIONS.items():
    operator(_name)(partial(_function, _operation))


@operator("Identity")
def identity(call: Call) -> Any:
    return call.operand(0)


@operator("Dropout")
def dropout(call: Call) -> Any:
    """Dropout in inference, which changes nothing, or in training, by random numbers."""
    if call.has(2) and call.needed(2, "the mode of dropout").elements[0]:
        return _dropped(call)
    if not call.has_result(1):
        return call.operand(0)
    return [call.operand(0), call.build.filled(call.shape(0), True, "bool")]


def _dropped(call: Call) -> list[Value]:
    """Return elements of which some are zero and the others larger by as much, and the mask of the latter."""
    ratio = call.x(1) if call.has(1) else call.build.filled((), 0.5, "float32")
    draws = call.line("uniform", [], {"shape": list(call.shape(0)), "dtype": ratio.type.dtype})
    kept = call.line("greater_equal", [draws, ratio])
    scaled = call.line("div", [call.x(), call.line("sub", [ratio], {"value": 1.0, "reverse": True})])
    dropped = call.line("masked_fill", [scaled, call.line("logical_not", [kept])], {"value": 0.0})
    return [cast(call.build, dropped, call.type(0).dtype), kept]


def _combine(operation: str, call: Call, attributes: dict[str, Any] | None = None) -> Value:
    """Add an operation on two tensors, one of which may be a number."""
    for place, other in ((1, 0), (0, 1)):
        number = scalar_for(call, place, other)
        if number is not None:
            operands = [call.x(0), number] if place == 1 else [number, call.x(1)]
            return combined(call.build, operation, operands[0], operands[1], attributes)
    return call.build.line(operation, [call.x(0), call.x(1)], attributes)


def _arithmetic(operation: str, call: Call) -> Value:
    return cast(call.build, _combine(operation, call), call.type(0).dtype)


@operator("Add")
def add(call: Call) -> Value:
    return _with_bias(call) or _arithmetic("add", call)


def _with_bias(call: Call) -> Value | None:
    """Add a vector to the linear map before it, whose bias it is; None for other sums."""
    for place, other in ((0, 1), (1, 0)):
        product, bias = call.operand(place).value, call.operand(other).value
        name = call.node.inputs[place]
        if product is None or bias is None or bias.stored is None or call.uses(name) != 1:
            continue
        line = call.build.maker(product)
        if line is None or line.operation != "linear" or line.attributes.get("bias") is not False:
            continue
        if "weight" not in line.parameters or bias.type.shape != product.type.shape[-1:]:
            continue
        if bias.type.dtype != product.type.dtype or call.build.graph.tensors[bias.stored.path].buffer:
            continue
        del line.attributes["bias"]
        line.parameters["bias"] = bias.stored
        return product
    return None


for _name in ("Sub", "Mul"):
    operator(_name)(partial(_arithmetic, _name.lower()))


@operator("Div")
def div(call: Call) -> Value:
    whole = {"rounding": "trunc"} if call.type(0).dtype in INTEGERS else None
    return cast(call.build, _combine("div", call, whole), call.type(0).dtype)


@operator("Pow")
def power(call: Call) -> Value:
    exponent, base = call.number(1), call.type(0).dtype
    if exponent is not None and not isinstance(exponent, bool) and len(call.known(1).shape) <= call.type(0).rank:  # type: ignore[union-attr]
        whole = isinstance(exponent, float) and exponent.is_integer()
        result = call.line("pow", [call.x()], {"value": int(exponent) if whole else exponent})
    else:
        result = call.line("pow", [call.x(0), call.x(1)])
    return cast(call.build, result, base)


@operator("Mod")
def mod(call: Call) -> Value:
    operation = "fmod" if call.attribute("fmod", 0) else "remainder"
    return cast(call.build, _combine(operation, call), call.type(0).dtype)


def _several(operation: str, call: Call) -> Value:
    result = call.x(0)
    for place in range(1, len(call)):
        result = call.line(operation, [result, call.x(place)])
    return result


operator("Sum")(partial(_several, "add"))


def _extreme(operation: str, call: Call) -> Value:
    return _arithmetic(operation, call) if len(call) == 2 else _several(operation, call)


operator("Max")(partial(_extreme, "maximum"))
operator("Min")(partial(_extreme, "minimum"))


@operator("Mean")
def mean(call: Call) -> Value:
    return call.line("div", [_several("add", call)], {"value": len(call)}) if len(call) > 1 else call.x()


#: Operations of two tensors whose results are bools.
_COMPARISONS = {
    "Equal": "equal",
    "Less": "less",
    "Greater": "greater",
    "LessOrEqual": "less_equal",
    "GreaterOrEqual": "greater_equal",
}
for _name, _operation in _COMPARISONS.items():
    operator(_name)(partial(_combine, _operation))
for _name, _operation in {"And": "logical_and", "Or": "logical_or", "Xor": "not_equal"}.items():
    operator(_name)(partial(_several, _operation))
for _name in ("And", "Or", "Xor"):
    operator(f"Bitwise{_name}")(partial(_several, f"bitwise_{_name.lower()}"))


@operator("BitShift")
def bit_shift(call: Call) -> Value:
    """x·2ⁿ, or ⌊x/2ⁿ⌋; shifts by the width of the type and more, and negative ones, leave no bit, or the sign."""
    dtype, left = call.type(0).dtype, call.attribute("direction") == "LEFT"
    operation = "bitwise_left_shift" if left else "bitwise_right_shift"
    return cast(call.build, call.line(operation, [call.x(0), call.x(1)]), dtype)


@operator("BitCast")
def bit_cast(call: Call) -> Any:
    dtype = dtype_named(call.attribute("to"))
    return call.operand(0) if dtype == call.type(0).dtype else call.line("bitcast", [call.x()], {"dtype": dtype})


@operator("Where")
def where(call: Call) -> Value:
    """Elements by a condition; a number in place of some elements is filled in."""
    for place, other in ((1, 2), (2, 1)):
        number, x = call.number(place), call.operand(other)
        if number is None or isinstance(number, Poly) or x.value is None or x.type.dtype == "bool":
            continue
        shape = broadcast_shape([call.shape(0), x.type.shape, call.shape(place)])
        if x.type.shape == shape:
            mask = call.x() if place == 1 else call.line("logical_not", [call.x()])
            return call.line("masked_fill", [call.x(other), mask], {"value": number})
    return call.line("where", [call.x(0), call.x(1), call.x(2)])


@operator("Cast")
def cast_(call: Call) -> Value:
    return cast(call.build, call.x(), dtype_named(call.attribute("to")))


@operator("CastLike")
def cast_like(call: Call) -> Value:
    return cast(call.build, call.x(), call.type(1).dtype)


@operator("IsNaN")
def is_nan(call: Call) -> Value:
    return call.line("not_equal", [call.x(), call.x()])


@operator("IsInf")
def is_inf(call: Call) -> Value:
    sides = [
        call.line("equal", [call.x()], {"value": value})
        for name, value in (("detect_positive", inf), ("detect_negative", -inf))
        if call.attribute(name, 1)
    ]
    if not sides:
        return call.build.filled(call.shape(0), False, "bool")
    return sides[0] if len(sides) == 1 else call.line("logical_or", sides)


@operator("Clip")
def clip(call: Call) -> Any:
    """Limits, which are attributes before opset 11; the minimum of an absent limit is no limit."""
    if call.version < 11:
        limits = {"min": call.attribute("min"), "max": call.attribute("max")}
        return _clamped(
            call, {name: value for name, value in limits.items() if value is not None and abs(value) < 3e38}
        )
    bounds: dict[str, Any] = {}
    result = call.x()
    for place, name, operation in ((1, "min", "maximum"), (2, "max", "minimum")):
        if not call.has(place):
            continue
        number = call.number(place)
        if number is None:
            result = call.line(operation, [result, call.x(place)])
        else:
            bounds[name] = number
    if bounds and result is not call.x():
        return cast(call.build, call.line("clamp", [result], bounds), call.type(0).dtype)
    return _clamped(call, bounds) if bounds or result is call.x() else result


def _clamped(call: Call, bounds: dict[str, Any]) -> Any:
    if not bounds:
        return call.operand(0)
    if call.type(0).dtype in FLOATS:
        if bounds == {"min": 0}:
            return call.line("relu", [call.x()])
        if bounds == {"min": 0, "max": 6}:
            return call.line("relu6", [call.x()])
    return call.line("clamp", [call.x()], bounds)
