"""References of :mod:`netcalc.ops.loss`, after torch.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._broadcast import broadcast_element
from netcalc.verification.references._promotion import promoted
from netcalc.verification.references._reduction import reduced


def _result_type(x: Array, target: Array) -> str:
    return promoted(x.dtype.name, target.dtype.name)


@reference("mse_loss", "l1_loss")
def distance(op: Attributes, x: Array, target: Array, weight: Array | None = None) -> Expected:
    def loss(index: Shape) -> float:
        difference = abs(float(x[index]) - float(target[index]))
        factor = 1.0 if weight is None else float(weight[index])
        return factor * (difference**2 if op.name == "mse_loss" else difference)

    def divisor() -> float:
        return x.size if weight is None else math.fsum(float(w) for w in weight.flat)

    return reduced(op.reduction, x.shape, _result_type(x, target), loss, divisor)


@reference("binary_cross_entropy")
def binary_cross_entropy(op: Attributes, x: Array, target: Array, weight: Array | None = None) -> Expected:
    def logarithm(p: float) -> float:
        return max(math.log(p), -100.0) if p > 0 else -100.0

    def loss(index: Shape) -> float:
        p, t = float(x[index]), float(target[index])
        factor = 1.0 if weight is None else broadcast_element(weight, index)
        return -factor * (t * logarithm(p) + (1 - t) * logarithm(1 - p))

    return reduced(op.reduction, x.shape, _result_type(x, target), loss, lambda: x.size)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@reference("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    op: Attributes, x: Array, target: Array, weight: Array | None = None, pos_weight: Array | None = None
) -> Expected:
    def positive(index: Shape) -> Any:
        if op.pos_weight is not None:
            return op.pos_weight[index[-1]] if len(op.pos_weight) > 1 else op.pos_weight[0]
        return 1.0 if pos_weight is None else broadcast_element(pos_weight, index)

    def loss(index: Shape) -> Any:
        logit, t = float(x[index]), float(target[index])
        factor = 1.0 if weight is None else broadcast_element(weight, index)
        return factor * (positive(index) * t * _softplus(-logit) + (1 - t) * _softplus(logit))

    return reduced(op.reduction, x.shape, _result_type(x, target), loss, lambda: x.size)


@reference("kl_div")
def kl_div(op: Attributes, x: Array, target: Array) -> Expected:
    def loss(index: Shape) -> Value:
        logarithm, t = float(x[index]), float(target[index])
        entropy = t if op.log_target else math.log(t) if t > 0 else 0.0 if t == 0 else math.nan
        share = math.exp(t) if op.log_target else t
        return Value(share * (entropy - logarithm), share * (abs(entropy) + abs(logarithm)))

    batch = x.shape[0] if x.ndim else 1
    return reduced(
        op.reduction, x.shape, _result_type(x, target), loss, lambda: batch if op.reduction == "batchmean" else x.size
    )
