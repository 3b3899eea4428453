"""Batch and instance normalization."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.affine import normed
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Stored, Value

#: Names of the statistics of a norm of batches.
_RUNNING = ("running_mean", "running_var")


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
    """Add a norm of channels, whose running statistics are buffers where it can hold them."""
    statistics = _used_statistics(build, input, training, **running)
    if statistics and not training and _can_hold(build, input, weight, bias, *statistics.values()):
        buffers = {name: statistics[name] for name in _RUNNING}
        attributes = {"eps": unless_default(eps, 1e-5)}
        return build.line("frozen_batch_norm", [input], attributes, {"weight": weight, "bias": bias, **buffers})
    settings = {
        "eps": unless_default(eps, 1e-5),
        "momentum": unless_default(momentum, 0.1),
        "track_running_stats": None if statistics else False,
    }
    used = _held(build, input, training, statistics)
    return _tracking(build, "batch_norm", input, (weight, bias), settings, **used)


def _held(build: Builder, x: Value, of_input: bool, statistics: dict[str, Value]) -> dict[str, Any]:
    """Return running statistics as buffers of a norm, if it can hold them, or as inputs, which it always uses."""
    if not statistics:
        return {}
    if _follow_mode(build, x, of_input, statistics):
        return {"buffers": statistics}
    return {"statistics": tuple(statistics[name] for name in _RUNNING)}


def _tracking(
    build: Builder,
    operation: str,
    x: Value,
    affine: tuple[Value | None, Value | None],
    settings: dict[str, Any],
    **used: Any,
) -> Value:
    """Add a norm; a weight of NaN in its averages stands for cumulative ones, which have no such weight."""
    momentum = settings.pop("momentum")
    cumulative = "buffers" in used and momentum is not None and isnan(momentum)
    if "buffers" in used and not cumulative:
        settings = {**settings, "momentum": momentum}
    result = normed(build, operation, x, affine, settings, **used)
    if cumulative:  # None would be the default
        build.graph.lines[-1].attributes["momentum"] = None
    return result


def _used_statistics(build: Builder, x: Value, of_input: bool, **running: Value | None) -> dict[str, Value]:
    """Return the running statistics that a norm uses, or updates in a network in training mode; none for others."""
    statistics = _statistics(build, **running)
    if of_input and not _follow_mode(build, x, of_input, statistics):
        return {}
    return statistics


def _follow_mode(build: Builder, x: Value, of_input: bool, statistics: Mapping[str, Value]) -> bool:
    """Return True if a norm of ``x`` takes statistics of its input in training alone, and has the others as buffers."""
    return of_input == build.graph.training and _can_hold(build, x, *statistics.values())


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
    """Add a norm of the channels of each element of the batch."""
    statistics = _used_statistics(build, input, use_input_stats, **running)
    settings = {
        "eps": unless_default(eps, 1e-5),
        "momentum": unless_default(momentum, 0.1),
        "track_running_stats": True if statistics else None,
    }
    used = _held(build, input, use_input_stats, statistics)
    return _tracking(build, "instance_norm", input, (weight, bias), settings, is_affine=False, **used)
