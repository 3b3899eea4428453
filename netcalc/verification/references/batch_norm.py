"""References of :mod:`netcalc.ops.batch_norm`, after torch.nn.BatchNorm2d, torchvision.ops.FrozenBatchNorm2d and
torch.nn.InstanceNorm2d."""

from __future__ import annotations

import math

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference, updates
from netcalc.verification.references._sums import double, mean, standardized, total

#: The inputs after the first, and the parameters in place of which they are.
_VECTORS = ("weight", "bias", "running_mean", "running_var")


def _by_running_statistics(op: Attributes, x: Array, arrays: dict[str, Array]) -> Expected:
    """Return the normalization by running statistics."""

    def at(index: Shape) -> Value:
        value = {name: float(array[index[1]]) for name, array in arrays.items() if array.ndim}
        factor = value.get("weight", 1.0) / float(np.sqrt(np.float64(value["running_var"] + op.eps)))
        terms = (float(x[index]) * factor, -value["running_mean"] * factor, value.get("bias", 0.0))
        return Value(sum(terms), sum(map(abs, terms)))

    return Expected(x.shape, x.dtype.name, at, 5)


@reference("batch_norm", "frozen_batch_norm", "instance_norm")
def normalized(op: Attributes, x: Array, *computed: Array | None, **given: Array) -> Expected:
    given |= {name: array for name, array in zip(_VECTORS, computed, strict=False) if array is not None}
    if op.name == "frozen_batch_norm" or (
        op.track_running_stats and (not op.training or any(array is not None for array in computed[2:]))
    ):
        return _by_running_statistics(op, x, given)

    def at(index: Shape) -> Value:
        channel = x[:, index[1]] if op.name == "batch_norm" else x[index[0], index[1]]
        factor, shift = (given[name][index[1]] if name in given else None for name in ("weight", "bias"))
        return standardized(x[index], channel, op.eps, factor, shift)

    batch = x.shape[0] if op.name == "batch_norm" else 1
    return Expected(x.shape, x.dtype.name, at, batch * math.prod(x.shape[2:]))


@updates("batch_norm", "instance_norm")
def running(
    op: Attributes,
    x: Array,
    *computed: Array | None,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    num_batches_tracked: Array | None = None,
    **others: Array,
) -> dict[str, Expected]:
    if not op.training or running_mean is None or running_var is None or num_batches_tracked is None:
        return {}
    batches = int(num_batches_tracked) + 1
    share = op.momentum
    if share is None:
        share = 1 / batches if op.name == "batch_norm" else 0.0

    def moved(old: Array, newest: float) -> Value:
        terms = ((1 - share) * float(old), share * newest)
        return Value(sum(terms), sum(map(abs, terms)) + abs(float(old)))

    def samples(channel: int) -> list[Array]:
        """Return the elements whose statistics are averaged: one batch, or each sample."""
        return [x[:, channel]] if op.name == "batch_norm" else list(x[:, channel])

    def middle(index: Shape) -> Value:
        parts = samples(index[0])
        value, magnitude, _ = moved(running_mean[index], mean([mean(part) for part in parts]))
        return Value(value, magnitude + share * mean([mean(np.abs(double(part))) for part in parts]))

    def spread(index: Shape) -> Value:
        every = [total((double(part) - mean(part)) ** 2).value / (part.size - 1) for part in samples(index[0])]
        return moved(running_var[index], mean(every))

    reads = x.size // x.shape[1]
    changed = {
        "running_mean": Expected(running_mean.shape, running_mean.dtype.name, middle, reads),
        "running_var": Expected(running_var.shape, running_var.dtype.name, spread, reads),
    }
    if op.name == "batch_norm":  # instance_norm does not count, as in PyTorch
        changed["num_batches_tracked"] = Expected((), "int64", lambda index: batches)
    return changed


@parameters("batch_norm", "instance_norm")
def tracked_parameters(op: Attributes, x: Shape, *computed: Shape | None) -> dict[str, Shape]:
    given = {name for name, shape in zip(_VECTORS, computed, strict=False) if shape is not None}
    learned = [name for name in ("weight", "bias") if op.affine and (name == "weight" or op.bias)]
    tracks = op.track_running_stats and "running_mean" not in given
    buffers = ["running_mean", "running_var"] if tracks else []
    count: dict[str, Shape] = {"num_batches_tracked": ()} if tracks else {}
    return dict.fromkeys((name for name in (*learned, *buffers) if name not in given), x[1:2]) | count


@parameters("frozen_batch_norm")
def fixed_parameters(op: Attributes, x: Shape) -> dict[str, Shape]:
    return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), x[1:2])
