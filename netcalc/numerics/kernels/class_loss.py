"""Kernels of :mod:`netcalc.ops.class_loss`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.loss import reduced
from netcalc.numerics.kernels.softmax import log_softmax_along
from netcalc.ops.class_loss import CrossEntropy, NLLLoss


@kernel("nll_loss")
def nll_loss(op: NLLLoss, run: Run, x: Array, target: Array, weight: Array | None = None) -> Array:
    return _at_class(op, run, wide(x), target, weight).astype(x.dtype, copy=False)


@kernel("cross_entropy")
def cross_entropy(op: CrossEntropy, run: Run, x: Array, target: Array, weight: Array | None = None) -> Array:
    inner = log_softmax_along(wide(x), class_axis(x))
    run.keep(result=inner.astype(x.dtype, copy=False))
    measure = _at_class if target.dtype.kind in "iu" else _by_probability
    return measure(op, run, inner, target, weight).astype(x.dtype, copy=False)


def class_axis(x: Array) -> int:
    """Return the axis of classes: 1, or 0 for a single sample."""
    return 1 if x.ndim > 1 else 0


def _at_class(op: CrossEntropy | NLLLoss, run: Run, x: Array, target: Array, weight: Array | None) -> Array:
    """Return the loss of log-probabilities ``x`` for target classes."""
    axis = class_axis(x)
    counted = target != op.ignore_index
    classes = select(counted, target, np.zeros_like(target)).astype(np.intp)
    wrong = np.asarray(classes)[(np.asarray(classes) < 0) | (np.asarray(classes) >= x.shape[axis])]
    if wrong.size:
        message = f"{op.name}: the target holds class {wrong.flat[0]}, and there are {x.shape[axis]} classes"
        raise RuleError(message, code="E602")
    losses = -like(x, np.take_along_axis(x, np.expand_dims(classes, axis), axis).squeeze(axis))
    if weight is not None:
        losses = losses * weight[classes]
    smoothing = getattr(op, "label_smoothing", 0.0)
    if smoothing:
        spread = _sum_over_classes(x, weight)
        losses = losses * (1 - smoothing) - spread * (smoothing / x.shape[axis])
    losses = select(counted, losses, np.zeros_like(losses))
    if op.reduction != "mean":
        return reduced(op, losses, 1)
    each = np.ones((), x.dtype) if weight is None else weight[classes]
    total = np.add.reduce(select(counted, each, np.zeros_like(losses)), axis=None)
    run.keep(total_weight=total.astype(x.dtype))
    if smoothing:  # PyTorch adds two quotients by the total, of which the first is 0/0 where there is no weight
        total = select(np.asarray(total) == 0, np.nan, total)
    return reduced(op, losses, total)


def _by_probability(op: CrossEntropy, run: Run, x: Array, target: Array, weight: Array | None) -> Array:
    """Return the loss of log-probabilities ``x`` for target probabilities."""
    if op.label_smoothing:
        target = wide(target) * (1 - op.label_smoothing) + op.label_smoothing / x.shape[class_axis(x)]
    losses = -_sum_over_classes(x * target, weight)
    return reduced(op, losses, losses.size)


def _sum_over_classes(x: Array, weight: Array | None) -> Array:
    axis = class_axis(x)
    if weight is not None:
        x = x * weight.reshape(-1, *(1,) * (x.ndim - axis - 1))
    total: Array = np.add.reduce(x, axis=axis)
    return total
