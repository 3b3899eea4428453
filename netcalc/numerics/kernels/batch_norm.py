"""Kernels of :mod:`netcalc.ops.batch_norm`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels.norm import affine, by_channel, centered, either, mean, reciprocal_root
from netcalc.ops.batch_norm import BatchNorm, FrozenBatchNorm, InstanceNorm


@kernel("batch_norm")
def batch_norm(
    op: BatchNorm,
    run: Run,
    x: Array,
    factor: Array | None = None,
    shift: Array | None = None,
    *statistics: Array | None,
    weight: Array | None = None,
    bias: Array | None = None,
    **tracked: Array,
) -> Array:
    weight, bias = either(factor, weight), either(shift, bias)
    running = _running(statistics, tracked)
    if op.track_running_stats and running is not None and (not run.training or not tracked):
        return _scale_and_shift(op.eps, x, weight, bias, *running)
    others = (0, *range(2, x.ndim))
    middle, rest, variance = centered(wide(x), others)
    scale = reciprocal_root(variance, op.eps)
    run.keep(result1=middle.reshape(-1), result2=scale.reshape(-1))
    if weight is not None:
        scale = scale * by_channel(weight, x.ndim)
    y = affine(rest, scale, None if bias is None else by_channel(bias, x.ndim))
    if run.training and tracked:
        batches = tracked["num_batches_tracked"] + 1
        momentum = 1 / batches if op.momentum is None else op.momentum
        run.updates["num_batches_tracked"] = np.asanyarray(batches)
        _track(run, momentum, middle, variance, x.size // x.shape[1], tracked)
    return y.astype(x.dtype, copy=False)


@kernel("frozen_batch_norm")
def frozen_batch_norm(
    op: FrozenBatchNorm, run: Run, x: Array, *, weight: Array, bias: Array, running_mean: Array, running_var: Array
) -> Array:
    return _scale_and_shift(op.eps, x, weight, bias, running_mean, running_var, run)


@kernel("instance_norm")
def instance_norm(
    op: InstanceNorm,
    run: Run,
    x: Array,
    factor: Array | None = None,
    shift: Array | None = None,
    *statistics: Array | None,
    weight: Array | None = None,
    bias: Array | None = None,
    **tracked: Array,
) -> Array:
    weight, bias = either(factor, weight), either(shift, bias)
    running = _running(statistics, tracked)
    if op.track_running_stats and running is not None and (not run.training or not tracked):
        return _scale_and_shift(op.eps, x, weight, bias, *running)
    middle, rest, variance = centered(wide(x), tuple(range(2, x.ndim)))
    shaped = (None if vector is None else by_channel(vector, x.ndim) for vector in (weight, bias))
    root = reciprocal_root(variance, op.eps)
    run.keep(result1=middle.reshape(-1), result2=root.reshape(-1))
    y = affine(rest * root, *shaped)
    if run.training and tracked:
        samples = (mean(middle, (0,)), mean(variance, (0,)))
        _track(run, op.momentum or 0.0, *samples, math.prod(x.shape[2:]), tracked)
    return y.astype(x.dtype, copy=False)


def _running(statistics: tuple[Array | None, ...], tracked: Mapping[str, Array]) -> tuple[Array, Array] | None:
    """Return running mean and variance: the inputs if they are some, or the buffers; None if there are none."""
    are_given = any(vector is not None for vector in statistics)
    middle, variance = statistics if are_given else (tracked.get(name) for name in ("running_mean", "running_var"))
    return None if middle is None or variance is None else (middle, variance)


def _scale_and_shift(
    eps: float,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    middle: Array,
    variance: Array,
    run: Run | None = None,
) -> Array:
    """Return fixed statistics and the affine map as a scale and a shift for each channel; ``run`` keeps the scale."""
    scale = reciprocal_root(wide(variance), eps)
    if weight is not None:
        scale = scale * weight
    shift = -(middle * scale) if bias is None else bias - middle * scale
    if run is not None:
        run.keep(other=by_channel(scale, x.ndim))
    return affine(wide(x), by_channel(scale, x.ndim), by_channel(shift, x.ndim)).astype(x.dtype, copy=False)


def _track(
    run: Run, momentum: float | Array, middle: Array, variance: Array, values: int, tracked: Mapping[str, Array]
) -> None:
    """Update the running statistics by ``momentum``, with the unbiased variance."""
    newest = {"running_mean": middle, "running_var": variance * (values / (values - 1))}
    for name, new in newest.items():
        old = tracked[name]
        moved = old + momentum * (new.reshape(old.shape) - old)
        run.updates[name] = moved.astype(old.dtype, copy=False)
