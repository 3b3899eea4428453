"""Batch and instance normalization."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Stored, Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._affine import Affine, affine_of, along_channels
from netcalc.formats.torch.operators._operands import UNUSED, unless_default


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
        if not _can_hold(build, input, *statistics.values()):
            return _by_given(build, input, weight, bias, (running_mean, running_var), eps)
        if _can_hold(build, input, weight, bias):
            frozen = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
            return build.line("frozen_batch_norm", [input], {"eps": unless_default(eps, 1e-5)}, frozen)
    affine = affine_of(build, input, weight, bias)
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
    buffers = {"running_mean": mean, "running_var": variance}
    if mean.stored is not None:
        path = ".".join([*mean.stored.path.split(".")[:-1], "num_batches_tracked"])
        counter = build.graph.tensors.get(path)
        if counter is not None and counter.buffer and counter.type.shape == ():
            buffers["num_batches_tracked"] = Value(counter.type, "", Stored(path))
    return buffers


def _can_hold(build: Builder, x: Value, *values: Value | None) -> bool:
    """Return True if the values are buffers that a norm of ``x`` can hold."""
    return all(
        value is not None
        and value.stored is not None
        and build.graph.tensors[value.stored.path].buffer
        and value.type.dtype in (x.type.dtype, "int64")
        for value in values
    )


def _by_given(
    build: Builder, x: Value, weight: Value | None, bias: Value | None, statistics: tuple[Value, Value], eps: float
) -> Value:
    """Add the lines of a norm with statistics that are no buffers."""
    mean, variance = (along_channels(build, vector, x) for vector in statistics)
    root = build.line("rsqrt", [build.line("add", [variance], {"value": eps})])
    result = build.line("mul", [build.line("sub", [x, mean]), root])
    return Affine({}, weight, bias).applied(build, result, channels=True)


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
        if not _can_hold(build, input, *statistics.values()) and running_mean is not None and running_var is not None:
            return _by_given(build, input, weight, bias, (running_mean, running_var), eps)
    affine = affine_of(build, input, weight, bias)
    attributes = {
        "eps": unless_default(eps, 1e-5),
        "momentum": None if use_input_stats else unless_default(momentum, 0.1),
        "track_running_stats": None if use_input_stats else True,
        **affine.attributes(default=False),
    }
    parameters = affine.parameters if use_input_stats else {**affine.parameters, **statistics}
    result = build.line("instance_norm", [input], attributes, parameters)
    return affine.applied(build, result, channels=True)


@operator(
    "aten.native_batch_norm.default",
    "aten._native_batch_norm_legit.default",
    "aten._native_batch_norm_legit.no_stats",
    "aten._native_batch_norm_legit_no_training.default",
)
def native_batch_norm(
    build: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    momentum: float,
    eps: float,
    running_mean: Value | None = None,
    running_var: Value | None = None,
    training: bool = False,
) -> tuple[Value | None, ...]:
    result = batch_norm(build, input, weight, bias, running_mean, running_var, training, momentum, eps, False)
    return result, *UNUSED
