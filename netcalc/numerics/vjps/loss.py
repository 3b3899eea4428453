"""Products of :mod:`netcalc.ops.loss`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels.loss import binary_losses, divisor_of, log_sigmoid, logit_losses, positive_weight
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.loss import BinaryCrossEntropy, BinaryCrossEntropyWithLogits, KLDiv, L1Loss, MSELoss


def _gradient_of_elements(op: Any, back: Back, gradient: Array, divisor: Array | None = None) -> Array:
    """Return the gradient of the loss of each element; a mean gives it to all alike."""
    g = wide(gradient)
    if op.reduction not in ("mean", "batchmean"):
        return g
    share: Array = g / (divisor_of(op, back.shape()) if divisor is None else divisor)
    return share


def _saved_wide(back: Back, name: str, gradient: Array) -> Array:
    """Return a saved tensor in the precision of the computation."""
    return wide(back.saved[name].astype(gradient.dtype, copy=False))


@vjp("mse_loss", "l1_loss")
def distance(op: MSELoss | L1Loss, back: Back, gradient: Array) -> Gradients:
    share = _gradient_of_elements(op, back, gradient, back.saved.get("other"))
    squared = isinstance(op, MSELoss)
    difference = back.saved["self"]
    if squared:
        difference = _saved_wide(back, "self", gradient) - _saved_wide(back, "target", gradient)
    weight = wide(back.saved["weight"]) if "weight" in back.saved else None
    gradients: Gradients = {}
    if back.wants(0, 1):
        flow = difference * (share * 2) if squared else np.sign(difference) * share
        if weight is not None:
            flow = flow * weight
        gradients |= back.only({0: lambda: flow, 1: lambda: -flow})
    if back.wants(2):
        losses = difference * difference if squared else np.abs(difference)
        if op.reduction == "mean":  # the divisor depends on the weights too
            losses = losses - wide(back.saved["output"])
        gradients[2] = losses * share
    return gradients


@vjp("binary_cross_entropy")
def binary_cross_entropy(op: BinaryCrossEntropy, back: Back, gradient: Array) -> Gradients:
    x, target = _saved_wide(back, "self", gradient), _saved_wide(back, "target", gradient)
    return _binary(
        op,
        back,
        gradient,
        (
            lambda: (x - target) / np.maximum((1 - x) * x, 1e-12),
            lambda: np.log(1 - x) - np.log(x),
            lambda: binary_losses(x, target),
        ),
    )


@vjp("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(op: BinaryCrossEntropyWithLogits, back: Back, gradient: Array) -> Gradients:
    x, target = _saved_wide(back, "self", gradient), _saved_wide(back, "target", gradient)
    pos_weight = wide(back.saved["pos_weight"]) if "pos_weight" in back.saved else None
    positive = positive_weight(op, x, pos_weight)

    def of_x() -> Array:
        sigmoid: Array = 1 / (1 + np.exp(-x))
        if positive is None:
            return sigmoid - target
        yes: Array = positive * target
        return (1 - target + yes) * sigmoid - yes

    def of_target() -> Array:
        if positive is None:
            return -x
        logs = log_sigmoid(x)
        difference: Array = logs - x - positive * logs
        return difference

    gradients = _binary(
        op,
        back,
        gradient,
        (of_x, of_target, lambda: logit_losses(x, target, positive), lambda: log_sigmoid(x) * target),
    )
    if 3 in gradients:
        gradients[3] = -gradients[3]
    return gradients


def _binary(op: Any, back: Back, gradient: Array, derivatives: tuple[Any, ...]) -> Gradients:
    """Return the products of g, the weight and the derivatives by each input; the loss is linear in the weight."""
    share = _gradient_of_elements(op, back, gradient)
    gradients: Gradients = {}
    for number, derivative in enumerate(derivatives):
        if back.wants(number):
            flow = derivative() * share
            if number != 2 and "weight" in back.saved:
                flow = flow * wide(back.saved["weight"])
            gradients[number] = summed_to(flow, back.shape(number))
    return gradients


@vjp("kl_div")
def kl_div(op: KLDiv, back: Back, gradient: Array) -> Gradients:
    share = _gradient_of_elements(op, back, gradient)
    target = _saved_wide(back, "target", gradient)
    likely = np.exp(target) if op.log_target else target
    gradients: Gradients = {}
    if back.wants(0):
        gradients[0] = -(likely * share)
    if back.wants(1):
        x = _saved_wide(back, "self", gradient)
        if op.log_target:
            gradients[1] = (target - x + 1) * likely * share
        else:  # target/target is 1, and NaN at zero as in PyTorch, where the derivative is infinite
            gradients[1] = (np.log(target) + target / target - x) * share
    return gradients
