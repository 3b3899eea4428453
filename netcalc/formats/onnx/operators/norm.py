"""Normalization."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines import batch_norm as lines
from netcalc.formats.graph.lines.affine import normed
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, front
from netcalc.formats.onnx.known import number
from netcalc.formats.onnx.operators import operator


@operator("BatchNormalization")
def batch_norm(call: Call) -> Any:
    """The norm of channels by running statistics, which are buffers where the file holds them."""
    if call.version < 14 and call.results > 1:
        raise RuleError("normalization in training")
    if call.attribute("training_mode", 0):
        return _by_batch(call)
    if call.attribute("spatial", 1) != 1:
        raise RuleError("statistics of each position")
    statistics = {"running_mean": call.buffer(3), "running_var": call.buffer(4)}
    momentum = number(1 - call.attribute("momentum", 0.9), "float32")
    eps = call.attribute("epsilon", 1e-5)
    return lines.batch_norm(
        call.build, call.x(), call.x(1), call.x(2), momentum=momentum, eps=eps, training=False, **statistics
    )


def _by_batch(call: Call) -> list[Value]:
    """Return the norm of channels by the statistics of the batch, and the running statistics after it."""
    rank, line, keep = call.type(0).rank, call.line, call.attribute("momentum", 0.9)
    others = [axis for axis in range(rank) if axis != 1]
    mean = line("mean", [call.x()], {"axis": others, "keepdim": True})
    variance = line("var", [call.x()], {"axis": others, "keepdim": True, "correction": 0})
    inverse = line("rsqrt", [line("add", [variance], {"value": call.attribute("epsilon", 1e-5)})])
    weight, bias = (reshaped(call.build, call.x(place), [-1, *[1] * (rank - 2)]) for place in (1, 2))
    result = line("mul", [line("sub", [call.x(), mean]), inverse])
    results = [line("add", [line("mul", [result, weight]), bias])]
    for place, found in ((3, mean), (4, variance)):
        new = line("mul", [reshaped(call.build, found, call.shape(place))], {"value": number(1 - keep, "float32")})
        results.append(line("add", [line("mul", [call.x(place)], {"value": keep}), new]))
    return results


@operator("InstanceNormalization")
def instance_norm(call: Call) -> Value:
    attributes = {"eps": unless_default(call.attribute("epsilon", 1e-5), 1e-5)}
    return normed(call.build, "instance_norm", call.x(), (call.x(1), call.x(2)), attributes, is_affine=False)


@operator("GroupNormalization")
def group_norm(call: Call) -> Value:
    """The norm of groups of channels; before opset 21 weight and bias are those of groups."""
    groups = call.attribute("num_groups")
    attributes = {"groups": groups, "eps": unless_default(call.attribute("epsilon", 1e-5), 1e-5)}
    weights = [call.x(1), call.x(2)]
    channels = call.shape(0)[1]
    if call.version < 21 and weights[0].type.shape != (channels,):
        weights = [
            call.line("repeat_interleave", [weight], {"repeats": channels // groups, "axis": 0}) for weight in weights
        ]
    return normed(call.build, "group_norm", call.x(), (weights[0], weights[1]), attributes)


@operator("LayerNormalization")
def layer_norm(call: Call) -> Any:
    """The norm over the last axes, with its mean and inverse deviation as further results."""
    rank = call.type(0).rank
    axis = call.axis(rank, -1)
    eps = call.attribute("epsilon", 1e-5)
    attributes = {"axes": unless_default(rank - axis, 1), "eps": unless_default(eps, 1e-5)}
    weight, bias = call.x(1), call.optional(2)
    if weight.type.shape != call.shape(0)[axis:]:
        result = call.line("layer_norm", [call.x()], {**attributes, "affine": False})
        result = call.line("mul", [result, weight])
        result = result if bias is None else call.line("add", [result, bias])
    else:
        result = normed(call.build, "layer_norm", call.x(), (weight, bias), attributes)
    if call.results < 2:
        return result
    axes = list(range(axis, rank))
    mean = call.line("mean", [call.x()], {"axis": axes, "keepdim": True})
    variance = call.line("var", [call.x()], {"axis": axes, "keepdim": True, "correction": 0})
    return [result, mean, call.line("rsqrt", [call.line("add", [variance], {"value": eps})])]


@operator("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(call: Call) -> Value:
    rank = call.type(0).rank
    axis = call.axis(rank, -1)
    attributes = {"axes": unless_default(rank - axis, 1), "eps": call.attribute("epsilon", 1e-5)}
    if call.shape(1) != call.shape(0)[axis:]:
        result = call.line("rms_norm", [call.x()], {**attributes, "affine": False})
        return call.line("mul", [result, call.x(1)])
    return normed(call.build, "rms_norm", call.x(), (call.x(1), None), attributes)


@operator("LpNormalization")
def lp_norm(call: Call) -> Value:
    axis = front(call.attribute("axis", -1), call.type(0).rank)
    order = call.attribute("p", 2)
    norm = call.line("vector_norm", [call.x()], {"axis": axis, "keepdim": True, "ord": None if order == 2 else order})
    zero = call.line("equal", [norm], {"value": 0})
    return call.line("div", [call.x(), call.line("masked_fill", [norm, zero], {"value": 1.0})])


@operator("LRN")
def local_response_norm(call: Call) -> Value:
    size = call.attribute("size")
    settings = {
        "alpha": call.attribute("alpha", 1e-4),
        "beta": call.attribute("beta", 0.75),
        "k": call.attribute("bias", 1.0),
    }
    if size % 2 == 0:
        raise RuleError("windows of an even number of channels, whose center is another than PyTorch's")
    return call.line("local_response_norm", [call.x()], {"size": size, **settings})


@operator("MeanVarianceNormalization")
def mean_variance(call: Call) -> Value:
    """(x − mean)/√variance over axes."""
    x = call.x()
    axes = call.attribute("axes") or [0, 2, 3]
    mean = call.line("mean", [x], {"axis": axes, "keepdim": True})
    squares = call.line("mean", [call.line("square", [x])], {"axis": axes, "keepdim": True})
    variance = call.line("sub", [squares, call.line("square", [mean])])
    deviation = call.line("add", [call.line("sqrt", [variance])], {"value": 1e-9})
    return cast(call.build, call.line("div", [call.line("sub", [x, mean]), deviation]), x.type.dtype)
