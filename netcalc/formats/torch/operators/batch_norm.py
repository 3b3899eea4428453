"""Batch and instance normalization."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Stored, Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._affine import Affine, affine_of, along_channels
from netcalc.formats.torch.operators._operands import unless_default, with_unused

#: Names of the statistics of a norm of batches.
_RUNNING = ("running_mean", "running_var")


@operator("aten.batch_norm.default")
def batch_norm(
    build: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    momentum: float,
    eps: float,
    training: bool = False,
    **running: Any,
) -> Value:
    statistics = {} if training else _statistics(build, **running)
    if statistics and not _can_hold(build, input, *statistics.values()):
        return _by_given(build, input, weight, bias, statistics, eps)
    if statistics and _can_hold(build, input, weight, bias):
        buffers = {name: statistics[name] for name in _RUNNING}
        attributes = {"eps": unless_default(eps, 1e-5)}
        return build.line("frozen_batch_norm", [input], attributes, {"weight": weight, "bias": bias, **buffers})
    affine = affine_of(build, input, weight, bias)
    attributes = {
        "eps": unless_default(eps, 1e-5),
        "momentum": unless_default(momentum, 0.1) if statistics else None,
        "track_running_stats": None if statistics else False,
        **affine.attributes(),
    }
    result = build.line("batch_norm", [input], attributes, {**affine.parameters, **statistics})
    return affine.applied(build, result, channels=True)


def _statistics(
    build: Builder, running_mean: Value | None = None, running_var: Value | None = None, **_: Any
) -> dict[str, Value]:
    """Return the buffers of running statistics, with the counter of batches that is stored beside them."""
    if running_mean is None or running_var is None:
        return {}
    buffers = {"running_mean": running_mean, "running_var": running_var}
    if running_mean.stored is not None:
        path = ".".join([*running_mean.stored.path.split(".")[:-1], "num_batches_tracked"])
        counter = build.graph.tensors.get(path)
        if counter is not None and counter.buffer and counter.type.shape == ():
            buffers["num_batches_tracked"] = Value(counter.type, "", Stored(path))
    return buffers


def _can_hold(build: Builder, x: Value, *values: Value | None) -> bool:
    """Return True if the values are buffers of the checkpoint that a norm of ``x`` can hold."""
    held = [build.graph.tensors[v.stored.path] for v in values if v is not None and v.stored is not None]
    dtypes = (x.type.dtype, "int64")
    return len(held) == len(values) and all(t.buffer and t.persistent and t.type.dtype in dtypes for t in held)


def _by_given(
    build: Builder, x: Value, weight: Value | None, bias: Value | None, statistics: dict[str, Value], eps: float
) -> Value:
    """Add the lines of a norm with statistics that are no buffers."""
    mean, variance = (along_channels(build, statistics[name], x) for name in _RUNNING)
    root = build.line("rsqrt", [build.line("add", [variance], {"value": eps})])
    result = build.line("mul", [build.line("sub", [x, mean]), root])
    return Affine({}, weight, bias).applied(build, result, channels=True)


@operator("aten.instance_norm.default")
def instance_norm(
    build: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    **running: Any,
) -> Value:
    statistics = {} if use_input_stats else _statistics(build, **running)
    if statistics and not _can_hold(build, input, *statistics.values()):
        return _by_given(build, input, weight, bias, statistics, eps)
    affine = affine_of(build, input, weight, bias)
    attributes = {
        "eps": unless_default(eps, 1e-5),
        "momentum": None if use_input_stats else unless_default(momentum, 0.1),
        "track_running_stats": None if use_input_stats else True,
        **affine.attributes(default=False),
    }
    result = build.line("instance_norm", [input], attributes, {**affine.parameters, **statistics})
    return affine.applied(build, result, channels=True)


operator(
    *("aten.native_batch_norm.default", "aten._native_batch_norm_legit.default"),
    *("aten._native_batch_norm_legit.no_stats", "aten._native_batch_norm_legit_no_training.default"),
)(with_unused(batch_norm))
