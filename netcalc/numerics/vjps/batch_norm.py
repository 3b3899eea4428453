"""Products of :mod:`netcalc.ops.batch_norm`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels.norm import by_channel, reciprocal_root
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.batch_norm import BatchNorm, FrozenBatchNorm, InstanceNorm


@vjp("batch_norm")
def batch_norm(op: BatchNorm, back: Back, gradient: Array) -> Gradients:
    if _by_running_statistics(op, back):
        return _by_fixed(op.eps, back, wide(gradient))
    return _by_own(back, wide(gradient), (0, *range(2, gradient.ndim))) | _of_statistics(back)


@vjp("instance_norm")
def instance_norm(op: InstanceNorm, back: Back, gradient: Array) -> Gradients:
    if _by_running_statistics(op, back):
        return _by_fixed(op.eps, back, wide(gradient))
    return _by_own(back, wide(gradient), tuple(range(2, gradient.ndim))) | _of_statistics(back)


def _by_running_statistics(op: BatchNorm | InstanceNorm, back: Back) -> bool:
    return op.track_running_stats and (not back.training or any(back.inputs[3:]))


def _of_statistics(back: Back) -> Gradients:
    """Return the gradients of running statistics that are inputs, which are zero as in PyTorch."""
    return {source: np.zeros(back.shape(source)) for source in (3, 4) if back.wants(source)}


@vjp("frozen_batch_norm")
def frozen_batch_norm(op: FrozenBatchNorm, back: Back, gradient: Array) -> Gradients:
    return {0: wide(gradient) * back.saved["other"]}


def _by_own(back: Back, g: Array, axes: tuple[int, ...]) -> Gradients:
    """Return the gradients through the statistics over ``axes``."""
    gradients: Gradients = {}
    each = tuple(1 if axis in axes else size for axis, size in enumerate(g.shape))
    count = math.prod(g.shape[axis] for axis in axes)
    if back.wants(0, "weight", 1):
        middle, root = (back.saved[name].reshape(each) for name in ("result1", "result2"))
        rest = wide(back.saved["input"]) - middle
        products = np.add.reduce(g * rest, axis=axes, keepdims=True)
    if back.wants(0, "bias", 2):
        total = np.add.reduce(g, axis=axes, keepdims=True)
    if back.wants(0):
        flow = g - rest * (products * root * root / count) - total / count
        weight = back.saved.get("weight")
        gradients[0] = flow * (root if weight is None else root * by_channel(wide(weight), g.ndim))
    for source in back.among("weight", 1):
        gradients[source] = np.add.reduce(products * root, axis=0).reshape(-1)
    for source in back.among("bias", 2):
        gradients[source] = np.add.reduce(total, axis=0).reshape(-1)
    return gradients


def _by_fixed(eps: float, back: Back, g: Array) -> Gradients:
    """Return the gradients of the affine map with running statistics."""
    gradients: Gradients = {}
    axes = (0, *range(2, g.ndim))
    if back.wants(0, "weight", 1):
        root = reciprocal_root(wide(back.saved["running_var"]), eps)
    if back.wants(0):
        weight = back.saved.get("weight")
        gradients[0] = g * by_channel(root if weight is None else root * wide(weight), g.ndim)
    for source in back.among("weight", 1):
        rest = wide(back.saved["input"]) - by_channel(wide(back.saved["running_mean"]), g.ndim)
        gradients[source] = np.add.reduce(g * rest, axis=axes) * root
    for source in back.among("bias", 2):
        gradients[source] = np.add.reduce(g, axis=axes)
    return gradients | _of_statistics(back)
