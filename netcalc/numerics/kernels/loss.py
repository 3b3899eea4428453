"""Kernels of :mod:`netcalc.ops.loss`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels._promotion import common_dtype
from netcalc.ops.loss import BinaryCrossEntropy, BinaryCrossEntropyWithLogits, KLDiv, L1Loss, Loss, MSELoss


def reduced(op: Loss, losses: Array, divisor: float | Array) -> Array:
    """Return the reduced losses; a mean divides by ``divisor``."""
    if op.reduction == "none":
        return losses
    total: Array = np.add.reduce(losses, axis=None)
    return total if op.reduction == "sum" else total / divisor


@kernel("mse_loss", "l1_loss")
def distance(op: MSELoss | L1Loss, run: Run, x: Array, target: Array, weight: Array | None = None) -> Array:
    x, target, dtype = alike(x, target)
    difference = x - target
    run.keep(self=difference)
    losses = difference * difference if isinstance(op, MSELoss) else np.abs(difference)
    divisor: float | Array = x.size
    if weight is not None:
        losses = losses * weight
        divisor = np.add.reduce(wide(weight), axis=None) if op.reduction == "mean" else 1
        run.keep(other=np.asarray(divisor))
    return reduced(op, losses, divisor).astype(dtype, copy=False)


@kernel("binary_cross_entropy")
def binary_cross_entropy(
    op: BinaryCrossEntropy, run: Run, x: Array, target: Array, weight: Array | None = None
) -> Array:
    for what, plain in (("input", np.asarray(x)), ("target", np.asarray(target))):
        if np.any((plain < 0) | (plain > 1)):
            raise RuleError(
                f"binary_cross_entropy: the {what} holds numbers outside 0 … 1",
                code="E602",
                hint="binary_cross_entropy_with_logits takes any input" if what == "input" else None,
            )
    x, target, dtype = alike(x, target)
    losses = binary_losses(x, target)
    if weight is not None:
        losses = losses * weight
    return reduced(op, losses, x.size).astype(dtype, copy=False)


@kernel("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    op: BinaryCrossEntropyWithLogits,
    run: Run,
    x: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
) -> Array:
    x, target, dtype = alike(x, target)
    losses = logit_losses(x, target, positive_weight(op, x, pos_weight))
    if weight is not None:
        losses = losses * weight
    return reduced(op, losses, x.size).astype(dtype, copy=False)


def binary_losses(x: Array, target: Array) -> Array:
    """Return the loss of each probability."""
    no, yes = np.maximum(np.log1p(-x), -100), np.maximum(np.log(x), -100)
    losses: Array = (target - 1) * no - target * yes
    return losses


def logit_losses(x: Array, target: Array, positive: Array | None) -> Array:
    """Return the loss of each logit, with a weight of its positive part."""
    logs = log_sigmoid(x)
    no = 1 - target
    if positive is not None:
        logs = logs * (no + positive * target)
    losses: Array = no * x - logs
    return losses


def positive_weight(op: BinaryCrossEntropyWithLogits, x: Array, pos_weight: Array | None) -> Array | None:
    """Return the weight of the positive part: an attribute or an input; None if there is none."""
    if op.pos_weight is None:
        return pos_weight
    return np.asarray(op.pos_weight if len(op.pos_weight) > 1 else op.pos_weight[0], x.dtype)


def log_sigmoid(x: Array) -> Array:
    """Return ln sigmoid(x)."""
    logs: Array = np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))
    return logs


@kernel("kl_div")
def kl_div(op: KLDiv, run: Run, x: Array, target: Array) -> Array:
    x, target, dtype = alike(x, target)
    if op.log_target:
        losses = np.exp(target) * (target - x)
    else:
        losses = target * np.log(select(target == 0, 1, target)) - target * x
    return reduced(op, losses, divisor_of(op, x.shape)).astype(dtype, copy=False)


def divisor_of(op: Any, shape: tuple[int, ...]) -> int:
    """Return the divisor of a mean without weights."""
    if op.reduction == "batchmean":
        return shape[0] if shape else 1
    return math.prod(shape)


def alike(x: Array, target: Array) -> tuple[Array, Array, np.dtype[Any]]:
    """Return both in the precision of the computation, and their common type."""
    dtype = common_dtype(x.dtype, target.dtype)
    return wide(x.astype(dtype, copy=False)), wide(target.astype(dtype, copy=False)), dtype
