"""Normalization."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.affine import normed
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._activations import front
from netcalc.formats.keras.operand import Operand


@layer("BatchNormalization")
def batch_norm(call: Call) -> Operand:
    """The norm of channels; one that is frozen has its statistics in training too."""
    operand = call.operand()
    call.mask(operand)  # for the statistics of training
    call.without("renorm", False)
    for name in ("renorm_clipping", "renorm_momentum"):
        call.get(name)
    axis = call.get("axis", -1)
    axis = front(axis[0] if isinstance(axis, list) and len(axis) == 1 else axis, operand.rank)
    size = operand.shape[axis]
    eps, momentum = call.number("epsilon", 1e-3), call.number("momentum", 0.99)
    affine = {
        name: call.weight(own, name, (size,), buffer=not call.is_trained and _is_whole(call))
        for name, own, setting in (("gamma", "weight", "scale"), ("beta", "bias", "center"))
        if call.flag(setting, True)
    }
    buffers = {
        own: call.weight(own, name, (size,), trainable=False)
        for name, own in (("moving_mean", "running_mean"), ("moving_variance", "running_var"))
    }
    attributes: dict[str, Any] = {"eps": unless_default(eps, 1e-5)}

    def result(x: Value) -> Value:
        if not call.is_trained and _is_whole(call):
            parameters = {"weight": affine["gamma"], "bias": affine["beta"], **buffers}
            return call.build.line("frozen_batch_norm", [x], attributes, parameters)
        settings = {**attributes, "momentum": unless_default(round(1 - momentum, 12), 0.1)}
        return normed(call.build, "batch_norm", x, (affine.get("gamma"), affine.get("beta")), settings, buffers=buffers)

    return _by_channel(call, operand, axis, result)


def _is_whole(call: Call) -> bool:
    return bool(call.flag("scale", True) and call.flag("center", True))


def _by_channel(call: Call, operand: Operand, axis: int, result: Any) -> Operand:
    """Return what a function makes of an operand whose channels, at an axis in the order of Keras, are its axis 1."""
    if axis == operand.rank - 1 or operand.rank < 3:
        if axis == 0:
            raise RuleError("a norm of the axis of the batch")
        return Operand(result(call.first(operand)), operand.rank > 2, operand.mask)
    if axis == 0:
        raise RuleError("a norm of the axis of the batch")
    x = call.last(operand)
    order = [0, axis, *(other for other in range(1, operand.rank) if other != axis)]
    turned = result(permuted(call.build, x, order))
    return Operand(
        permuted(call.build, turned, [order.index(place) for place in range(operand.rank)]), mask=operand.mask
    )


@layer("LayerNormalization")
def layer_norm(call: Call) -> Operand:
    operand, x = call.operand(), call.last()
    axes = _last_axes(call.get("axis", -1), operand.rank)
    shape, eps = operand.shape[-axes:], call.number("epsilon", 1e-3)
    is_scaled, is_rms = call.flag("scale", True), call.flag("rms_scaling")
    is_moved = call.flag("center", True) and not is_rms
    weight = call.weight("weight", "gamma", shape) if is_scaled or is_rms else None
    bias = call.weight("bias", "beta", shape) if is_moved else None
    if is_rms:
        return Operand(_scaled(call, x, axes, eps, weight), mask=operand.mask)
    attributes = {"axes": unless_default(axes, 1), "eps": unless_default(eps, 1e-5)}
    return Operand(normed(call.build, "layer_norm", x, (weight, bias), attributes), mask=operand.mask)


def _scaled(call: Call, x: Value, axes: int, eps: float, weight: Value | None) -> Value:
    """Return x/√(variance + eps)·weight, from which no mean is subtracted."""
    places = list(range(-axes, 0))
    variance = call.line("var", [x], {"axis": places, "keepdim": True, "correction": 0})
    result = call.line("mul", [x, call.line("rsqrt", [call.line("add", [variance], {"value": eps})])])
    return result if weight is None else call.line("mul", [result, weight])


@layer("RMSNormalization")
def rms_norm(call: Call) -> Operand:
    operand = call.operand()
    axes = _last_axes(call.get("axis", -1), operand.rank)
    weight = call.weight("weight", "scale", operand.shape[-axes:])
    attributes = {"axes": unless_default(axes, 1), "eps": call.number("epsilon", 1e-6)}
    return Operand(normed(call.build, "rms_norm", call.last(), (weight, None), attributes), mask=operand.mask)


def _last_axes(axis: Any, rank: int) -> int:
    """Return the number of axes that a norm is over; RuleError if they are not the last ones."""
    axes = sorted(front(one, rank) for one in (axis if isinstance(axis, list) else [axis]))
    if not axes or axes != list(range(rank - len(axes), rank)) or axes[0] == 0:
        raise RuleError(f"a norm over the axes {axes} of {rank}")
    return len(axes)


@layer("GroupNormalization")
def group_norm(call: Call) -> Operand:
    operand = call.operand()
    axis = front(call.get("axis", -1), operand.rank)
    size, groups = operand.shape[axis], call.get("groups", 32)
    groups = size if groups == -1 else groups
    if type(groups) is not int or groups < 1:
        raise RuleError("groups should be a whole number")
    weight = call.weight("weight", "gamma", (size,)) if call.flag("scale", True) else None
    bias = call.weight("bias", "beta", (size,)) if call.flag("center", True) else None
    attributes = {"groups": groups, "eps": unless_default(call.number("epsilon", 1e-3), 1e-5)}
    return _by_channel(call, operand, axis, lambda x: normed(call.build, "group_norm", x, (weight, bias), attributes))


@layer("UnitNormalization")
def unit_norm(call: Call) -> Operand:
    """x/max(‖x‖, 10⁻⁶) along axes: Keras limits the square, by 10⁻¹²."""
    operand = call.operand()
    axis = call.get("axis", -1)
    axes = [operand.axis(front(one, operand.rank)) for one in (axis if isinstance(axis, list) else [axis])]
    attributes = {"axis": axes[0] if len(axes) == 1 else axes, "eps": 1e-6}
    return Operand(call.line("normalize", [operand.value], attributes), operand.first, operand.mask)
