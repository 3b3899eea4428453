"""Losses."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._losses import loss_line
from netcalc.formats.torch.operators.norm import cosine_similarity
from netcalc.formats.torch.operators.reduce import pairwise_distance

for _operation in ("mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"):
    operator(f"aten.{_operation}.default")(partial(loss_line, _operation))


@operator("aten.kl_div.default")
def kl_div(build: Builder, log_target: bool, **call: Any) -> Value:
    return loss_line("kl_div", build, **call, log_target=log_target or None)


def _reduced(build: Builder, loss: Value, reduction: int) -> Value:
    return loss if reduction == 0 else build.line(("", "mean", "sum")[reduction], [loss])


def _piecewise(divisor: float, build: Builder, input: Value, target: Value, reduction: int, bound: float) -> Value:
    """Squared error ½d² where |d| is below the bound, bound·(|d| − ½·bound) elsewhere, over a divisor."""
    distance = build.line("abs", [build.line("sub", [input, target])])
    near = build.line("mul", [build.line("square", [distance])], {"value": 0.5 / divisor})
    linear = build.line("add", [distance], {"value": -0.5 * bound})
    far = linear if bound == divisor else build.line("mul", [linear], {"value": bound / divisor})
    loss = build.line("where", [build.line("less", [distance], {"value": bound}), near, far])
    return _reduced(build, loss, reduction)


@operator("aten.smooth_l1_loss.default")
def smooth_l1_loss(build: Builder, input: Value, target: Value, reduction: int, beta: float) -> Value:
    if beta == 0:
        return loss_line("l1_loss", build, input, target, reduction)
    return _piecewise(beta, build, input, target, reduction, beta)


@operator("aten.huber_loss.default")
def huber_loss(build: Builder, input: Value, target: Value, reduction: int, delta: float) -> Value:
    return _piecewise(1.0, build, input, target, reduction, delta)


@operator("aten.soft_margin_loss.default")
def soft_margin_loss(build: Builder, input: Value, target: Value, reduction: int) -> Value:
    product = build.line("mul", [build.line("neg", [target]), input])
    loss = build.line("log", [build.line("add", [build.line("exp", [product])], {"value": 1.0})])
    return _reduced(build, loss, reduction)


@operator("aten.poisson_nll_loss.default")
def poisson_nll_loss(
    build: Builder, input: Value, target: Value, log_input: bool, full: bool, eps: float, reduction: int
) -> Value:
    """exp(input) − target·input, or input − target·ln(input + eps) for an input that is no logarithm."""
    if full:
        raise RuleError("poisson_nll_loss with Stirling's approximation")
    mean = build.line("exp", [input]) if log_input else input
    logarithm = input if log_input else build.line("log", [build.line("add", [input], {"value": eps})])
    loss = build.line("sub", [mean, build.line("mul", [target, logarithm])])
    return _reduced(build, loss, reduction)


@operator("aten.margin_ranking_loss.default")
def margin_ranking_loss(
    build: Builder, input1: Value, input2: Value, target: Value, margin: float, reduction: int
) -> Value:
    """max(0, −target·(input1 − input2) + margin)."""
    product = build.line("mul", [build.line("neg", [target]), build.line("sub", [input1, input2])])
    return _reduced(build, _hinge(build, product, margin), reduction)


@operator("aten.hinge_embedding_loss.default")
def hinge_embedding_loss(build: Builder, input: Value, target: Value, margin: float, reduction: int) -> Value:
    """input where the target is 1, max(0, margin − input) where it is −1."""
    far = build.line(
        "masked_fill", [_hinge(build, build.line("neg", [input]), margin), _is_equal(build, target, 1)], {"value": 0.0}
    )
    near = build.line("masked_fill", [input, _is_equal(build, target, -1)], {"value": 0.0})
    return _reduced(build, build.line("add", [far, near]), reduction)


@operator("aten.cosine_embedding_loss.default")
def cosine_embedding_loss(
    build: Builder, input1: Value, input2: Value, target: Value, margin: float, reduction: int
) -> Value:
    """1 − cos where the target is 1, max(0, cos − margin) where it is −1."""
    cosine = cosine_similarity(build, input1, input2, len(target.type.shape), 0.0)
    near = build.line("sub", [cosine], {"value": 1.0, "reverse": True})
    far = _hinge(build, cosine, -margin)
    parts = [
        build.line("masked_fill", [part, build.line("not_equal", [target], {"value": sign})], {"value": 0.0})
        for part, sign in ((near, 1), (far, -1))
    ]
    return _reduced(build, build.line("add", parts), reduction)


@operator("aten.triplet_margin_loss.default")
def triplet_margin_loss(
    build: Builder,
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: float,
    swap: bool,
    reduction: int,
    **norm: Any,
) -> Value:
    """max(0, d(anchor, positive) − d(anchor, negative) + margin)."""
    near = pairwise_distance(build, anchor, positive, **norm)
    far = pairwise_distance(build, anchor, negative, **norm)
    if swap:
        far = build.line("minimum", [far, pairwise_distance(build, positive, negative, **norm)])
    return _reduced(build, _hinge(build, build.line("sub", [near, far]), margin), reduction)


@operator("aten.multi_margin_loss.default")
def multi_margin_loss(
    build: Builder, input: Value, target: Value, p: int, margin: float, weight: Value | None, reduction: int
) -> Value:
    """The mean over classes of max(0, margin − input[target] + input)ᵖ, without the class of the target."""
    right = build.line("unsqueeze", [target], {"axis": -1})
    score = build.line("gather", [input, right], {"axis": -1})
    loss = _hinge(build, build.line("sub", [input, score]), margin)
    loss = build.line("square", [loss]) if p == 2 else loss
    if weight is not None:
        loss = build.line("mul", [loss, build.line("index", [weight, right], {"axis": 0})])
    classes = build.line("arange", [], {"stop": input.type.shape[-1]})
    others = build.line("masked_fill", [loss, build.line("equal", [classes, right])], {"value": 0.0})
    return _reduced(build, build.line("mean", [others], {"axis": -1}), reduction)


def _hinge(build: Builder, x: Value, margin: float) -> Value:
    """Return max(0, x + margin)."""
    return build.line("clamp", [build.line("add", [x], {"value": margin}) if margin else x], {"min": 0.0})


def _is_equal(build: Builder, x: Value, value: float) -> Value:
    return build.line("equal", [x], {"value": value})
