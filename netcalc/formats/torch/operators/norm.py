"""Normalisation, with weights that are learned parameters of the norm or tensors of any other kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Stored, Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.linear import learned
from netcalc.formats.torch.operators.operands import unless_default


class _Affine(NamedTuple):
    """The affine map of a norm: what its line learns, and the factor and the summand of the lines after it."""

    parameters: dict[str, Value]
    factor: Value | None = None
    summand: Value | None = None

    def attributes(self, *, default: bool = True) -> dict[str, Any]:
        """Return the attributes ``affine`` and ``bias`` where they differ from their defaults."""
        affine = "weight" in self.parameters
        return {
            "affine": None if affine == default else affine,
            "bias": False if affine and "bias" not in self.parameters else None,
        }

    def applied(self, build: Builder, x: Value, *, channels: bool) -> Value:
        """Add the lines that scale and shift ``x``, along its last axes or its channels (axis 1)."""
        result = x
        for operation, value in (("mul", self.factor), ("add", self.summand)):
            if value is not None:
                result = build.line(operation, [result, along_channels(build, value, x) if channels else value])
        if result.type.dtype != x.type.dtype:
            result = build.line("cast", [result], {"dtype": x.type.dtype})
        return result


def _affine(build: Builder, x: Value, weight: Value | None, bias: Value | None) -> _Affine:
    dtype = x.type.dtype
    if weight is None or not learned(build, weight, dtype):
        return _Affine({}, weight, bias)
    if bias is None or not learned(build, bias, dtype):
        return _Affine({"weight": weight}, None, bias)
    return _Affine({"weight": weight, "bias": bias})


def along_channels(build: Builder, vector: Value, x: Value) -> Value:
    """Return a vector with an element for each channel in a shape that broadcasts to ``x`` along axis 1."""
    after = len(x.type.shape) - 2
    return build.line("reshape", [vector], {"shape": [-1, *[1] * after]}) if after > 0 else vector


@operator("aten.batch_norm.default")
def batch_norm(
    build: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Value:
    statistics = {} if training else _running(build, running_mean, running_var)
    if not training and running_mean is not None and running_var is not None:
        if not _kept(build, input, *statistics.values()):
            return _by_given(build, input, weight, bias, (running_mean, running_var), eps)
        if _kept(build, input, weight, bias):
            frozen = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
            return build.line("frozen_batch_norm", [input], {"eps": unless_default(eps, 1e-5)}, frozen)
    affine = _affine(build, input, weight, bias)
    attributes = {
        "eps": unless_default(eps, 1e-5),
        "momentum": unless_default(momentum, 0.1) if statistics else None,
        "track_running_stats": None if statistics else False,
        **affine.attributes(),
    }
    result = build.line("batch_norm", [input], attributes, {**affine.parameters, **statistics})
    return affine.applied(build, result, channels=True)


def _running(build: Builder, mean: Value | None, variance: Value | None) -> dict[str, Value]:
    """Return the buffers of running statistics, with the counter of batches that is stored beside them."""
    if mean is None or variance is None:
        return {}
    found = {"running_mean": mean, "running_var": variance}
    if mean.stored is not None:
        path = ".".join([*mean.stored.path.split(".")[:-1], "num_batches_tracked"])
        counter = build.graph.tensors.get(path)
        if counter is not None and counter.buffer and counter.type.shape == ():
            found["num_batches_tracked"] = Value(counter.type, "", Stored(path))
    return found


def _kept(build: Builder, x: Value, *values: Value | None) -> bool:
    """Return True if the values are buffers that a norm of ``x`` can hold."""
    return all(
        value is not None
        and value.stored is not None
        and build.graph.tensors[value.stored.path].buffer
        and value.type.dtype in (x.type.dtype, "int64")
        for value in values
    )


def _by_given(
    build: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    statistics: tuple[Value, Value],
    eps: float,
) -> Value:
    """Add the lines of a norm with statistics that are no buffers."""
    mean, variance = (along_channels(build, vector, x) for vector in statistics)
    root = build.line("rsqrt", [build.line("add", [variance], {"value": eps})])
    result = build.line("mul", [build.line("sub", [x, mean]), root])
    return _Affine({}, weight, bias).applied(build, result, channels=True)


@operator("aten.instance_norm.default")
def instance_norm(
    build: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Value:
    if not use_input_stats:
        statistics = _running(build, running_mean, running_var)
        if not _kept(build, input, *statistics.values()) and running_mean is not None and running_var is not None:
            return _by_given(build, input, weight, bias, (running_mean, running_var), eps)
    affine = _affine(build, input, weight, bias)
    attributes = {
        "eps": unless_default(eps, 1e-5),
        "momentum": None if use_input_stats else unless_default(momentum, 0.1),
        "track_running_stats": None if use_input_stats else True,
        **affine.attributes(default=False),
    }
    parameters = affine.parameters if use_input_stats else {**affine.parameters, **statistics}
    result = build.line("instance_norm", [input], attributes, parameters)
    return affine.applied(build, result, channels=True)


@operator("aten.layer_norm.default")
def layer_norm(
    build: Builder,
    input: Value,
    normalized_shape: list[Any],
    weight: Value | None,
    bias: Value | None,
    eps: float,
    cudnn_enable: bool,
) -> Value:
    affine = _affine(build, input, weight, bias)
    attributes = {
        "axes": unless_default(len(normalized_shape), 1),
        "eps": unless_default(eps, 1e-5),
        **affine.attributes(),
    }
    result = build.line("layer_norm", [input], attributes, affine.parameters)
    return affine.applied(build, result, channels=False)


@operator("aten.rms_norm.default")
def rms_norm(
    build: Builder, input: Value, normalized_shape: list[Any], weight: Value | None, eps: float | None
) -> Value:
    affine = _affine(build, input, weight, None)
    attributes = {
        "axes": unless_default(len(normalized_shape), 1),
        "eps": eps,
        "affine": affine.attributes()["affine"],
    }
    result = build.line("rms_norm", [input], attributes, affine.parameters)
    return affine.applied(build, result, channels=False)


@operator("aten.group_norm.default")
def group_norm(
    build: Builder,
    input: Value,
    num_groups: int,
    weight: Value | None,
    bias: Value | None,
    eps: float,
    cudnn_enabled: bool,
) -> Value:
    affine = _affine(build, input, weight, bias)
    attributes = {"groups": num_groups, "eps": unless_default(eps, 1e-5), **affine.attributes()}
    result = build.line("group_norm", [input], attributes, affine.parameters)
    return affine.applied(build, result, channels=True)
