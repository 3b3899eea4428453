"""Activations by their names, as settings of layers have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.configuration import Layer
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped

#: Operations, with attributes, that Keras has under other names or with other defaults.
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "celu": ("celu", {}),
    "elu": ("elu", {}),
    "exponential": ("exp", {}),
    "gelu": ("gelu", {}),
    "hard_shrink": ("hardshrink", {}),
    "hard_sigmoid": ("hardsigmoid", {}),
    "hard_silu": ("hardswish", {}),
    "hard_swish": ("hardswish", {}),
    "hard_tanh": ("hardtanh", {}),
    "leaky_relu": ("leaky_relu", {"negative_slope": 0.2}),
    "log_sigmoid": ("logsigmoid", {}),
    "mish": ("mish", {}),
    "relu": ("relu", {}),
    "relu6": ("relu6", {}),
    "selu": ("selu", {}),
    "sigmoid": ("sigmoid", {}),
    "silu": ("silu", {}),
    "soft_shrink": ("softshrink", {}),
    "softplus": ("softplus", {}),
    "softsign": ("softsign", {}),
    "swish": ("silu", {}),
    "tanh": ("tanh", {}),
    "tanh_shrink": ("tanhshrink", {}),
}


def activated(call: Call, operand: Operand, setting: str = "activation") -> Operand:
    """Return a result of a layer after the activation that a setting names."""
    return applied(call, operand, call.get(setting))


def applied(call: Call, operand: Operand, spec: Any) -> Operand:
    """Return an operand after an activation: a name, a function, or a layer as Keras writes it; None for none."""
    name = name_of(spec)
    if name is None:
        return _by_layer(call, operand, spec)
    if name == "linear":
        return operand
    if name in PLAIN:
        operation, attributes = PLAIN[name]
        return Operand(call.line(operation, [operand.value], dict(attributes)), operand.first, operand.mask)
    if name in ("softmax", "log_softmax"):
        return along_axis(call, name, operand, -1)
    if name in COMPUTED:
        return Operand(COMPUTED[name](call, operand.value), operand.first, operand.mask)
    if name == "glu":
        return along_axis(call, name, operand, -1)
    raise RuleError(f"activation {clipped(name)} is not known")


def along_axis(call: Call, operation: str, operand: Operand, axis: Any, **attributes: Any) -> Operand:
    """Return the result of an operation along an axis in the order of Keras; RuleError if there is no such axis."""
    own = operand.axis(front(axis, operand.rank))
    written = -1 if own == operand.rank - 1 else own
    return Operand(call.line(operation, [operand.value], {"axis": written, **attributes}), operand.first, operand.mask)


def front(axis: Any, rank: int) -> int:
    """Return an axis counted from the front; RuleError if a tensor of this rank has no such axis."""
    if type(axis) is not int or not -rank <= axis < rank:
        raise RuleError(f"axis {clipped(axis)} of a tensor of {rank} axes")
    return axis % rank


def name_of(spec: Any) -> str | None:
    """Return the name of an activation; None for a layer in its place."""
    if spec is None:
        return "linear"
    if isinstance(spec, str):
        return spec
    if isinstance(spec, dict) and spec.get("class_name") == "function" and isinstance(spec.get("config"), str):
        module = spec.get("module")
        own = isinstance(module, str) and (module == "builtins" or module.startswith("keras"))
        return str(spec["config"]) if own else f"{module}.{spec['config']}"
    return None


def _by_layer(call: Call, operand: Operand, spec: Any) -> Operand:
    """Return an operand after a layer that a setting has in place of an activation."""
    if not isinstance(spec, dict) or not isinstance(spec.get("class_name"), str):
        raise RuleError(f"activation {clipped(spec)} is not known")
    config, module = spec.get("config"), spec.get("module")
    kind, module = spec["class_name"], module if isinstance(module, str) else ""
    if not isinstance(config, dict):
        raise RuleError(f"activation {clipped(kind)} is not known")
    if kind == "__lambda__" or not module.startswith("keras"):
        raise RuleError(f"activation {clipped(kind)} is code, which is not executed")
    wrapped = Layer(str(config.get("name", "activation")), kind, module, config)
    result: Operand = call.around.inner(wrapped, "activation", operand, "activation")
    return result


def _sparse_plus(call: Call, x: Value) -> Value:
    """0 below −1, x above 1, ¼·(x + 1)² between: with y = the limited x, ¼·(y + 1)² + x − 1 above 1."""
    limited = call.line("clamp", [x], {"min": -1.0, "max": 1.0})
    square = call.line("square", [call.line("add", [limited], {"value": 1.0})])
    quarter = call.line("mul", [square], {"value": 0.25})
    above = call.line("relu", [call.line("sub", [x], {"value": 1.0})])
    return call.line("add", [quarter, above])


def _squareplus(call: Call, x: Value) -> Value:
    """(x + √(x² + 4))/2."""
    root = call.line("sqrt", [call.line("add", [call.line("square", [x])], {"value": 4.0})])
    return call.line("div", [call.line("add", [x, root])], {"value": 2.0})


def _sparse_sigmoid(call: Call, x: Value) -> Value:
    """0.5·(x + 1), limited to the range from 0 to 1."""
    limited = call.line("clamp", [x], {"min": -1.0, "max": 1.0})
    return call.line("mul", [call.line("add", [limited], {"value": 1.0})], {"value": 0.5})


#: Activations that are several operations.
COMPUTED: dict[str, Callable[[Call, Value], Value]] = {
    "sparse_plus": _sparse_plus,
    "squareplus": _squareplus,
    "sparse_sigmoid": _sparse_sigmoid,
}
