"""Routers and experts.

Every token takes the matrices of its experts by a Gather, so that shapes do not depend on data, and the work is the
one of the chosen experts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import RULES, Applied, UnsupportedError, rule
from netcalc.formats.export.onnx.rules._wide import wide
from netcalc.formats.export.onnx.rules.sorting import top


@rule("top_k_router")
def top_k_router(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return the weights of the chosen experts, and their numbers."""
    op, scores = call.op, wide(graph, call.x)
    last = scores.rank - 1

    def scored(x: Tensor) -> Tensor:
        return graph.softmax(x, last) if op.scoring == "softmax" else graph.unary("Sigmoid", x)

    if op.order == "score_first":
        scores = scored(scores)
    choice = scores
    if op.correction_bias:
        choice = graph.add(choice, graph.cast(call.param("e_score_correction_bias"), choice.dtype))
    if op.groups > 1:
        choice = _among_groups(graph, op, choice)
    _, indices = top(graph, choice, op.k, last)
    weights = graph.gather_elements(scores, indices, last)
    if op.order == "select_first":
        weights = scored(weights)
    if op.normalize:
        total = graph.sum(weights, [last])
        weights = graph.div(weights, graph.add(total, float(op.eps)) if op.eps else total)
    if op.scale != 1:
        weights = graph.mul(weights, float(op.scale))
    return [graph.cast(weights, call.output.dtype), indices]


def _among_groups(graph: Emitter, op: Any, choice: Tensor) -> Tensor:
    """Return the scores with −∞ for the experts outside the best groups."""
    last = choice.rank
    each = choice.shape[-1] // op.groups
    grouped = graph.reshape(choice, (*choice.shape[:-1], op.groups, each))
    if op.group_score == "max":
        worth = graph.reduce("ReduceMax", grouped, [last])
    else:
        worth = graph.sum(top(graph, grouped, 2, last)[0], [last], keep=False)
    _, best = top(graph, worth, op.top_groups, last - 1)
    is_best = graph.compare("Equal", graph.unsqueeze(best, [last]), graph.range(0, op.groups))
    allowed = graph.reduce("ReduceMax", graph.cast(is_best, "int32"), [last - 1])
    allowed = graph.unsqueeze(graph.cast(allowed, "bool"), [last])
    return graph.reshape(graph.where(allowed, grouped, graph.scalar(-math.inf, grouped)), choice.shape)


@rule("experts")
def experts(graph: Emitter, call: Applied) -> Tensor:
    """Return the weighted sum of the chosen experts of each token."""
    op, x = call.op, call.x
    weights, indices = wide(graph, call.required(1)), graph.cast(call.required(2), "int64")
    rank = x.rank
    rows = graph.unsqueeze(wide(graph, x), [rank - 1, rank])  # (…, 1, 1, d)
    share = graph.unsqueeze(weights, [rank, rank + 1])  # (…, k, 1, 1)
    if op.weights_on == "input":
        rows = graph.mul(rows, share)

    def project(value: Tensor, name: str) -> Tensor:
        chosen = wide(graph, graph.gather(call.param(name), indices, 0))
        made = graph.matmul(value, graph.swapped(chosen))
        if not op.bias:
            return made
        return graph.add(
            made, graph.unsqueeze(wide(graph, graph.gather(call.param(f"{name}_bias"), indices, 0)), [rank])
        )

    y = _mlp(graph, op, rows, project)
    if op.limited:
        fits = graph.unsqueeze(_fitting(graph, op, indices), [rank, rank + 1])
        y = graph.where(fits, y, graph.scalar(0.0, y))
    if op.weights_on == "output":
        y = graph.mul(y, share)
    total = graph.reduce("ReduceSum", y, [rank - 1, rank])
    return graph.cast(total, call.output.dtype)


def _mlp(graph: Emitter, op: Any, rows: Tensor, project: Callable[[Tensor, str], Tensor]) -> Tensor:
    """Return the outputs of the chosen experts."""
    if not op.gated:
        return project(_activated(graph, op.activation, project(rows, "up_proj")), "down_proj")
    both = project(rows, "gate_up_proj")
    hidden = both.shape[-1] // 2
    if op.interleaved:
        pairs = graph.reshape(both, (*both.shape[:-1], hidden, 2))
        gate, up = (graph.squeeze(part, [-1]) for part in graph.split(pairs, -1, [1, 1]))
    else:
        gate, up = graph.split(both, -1, [hidden, hidden])
    if op.limit is not None:
        gate, up = graph.clip(gate, None, float(op.limit)), graph.clip(up, -float(op.limit), float(op.limit))
    gate = _activated(graph, op.activation, gate)
    if op.up_shift:
        up = graph.add(up, float(op.up_shift))
    return project(graph.mul(gate, up), "down_proj")


def _activated(graph: Emitter, activation: Any, x: Tensor) -> Tensor:
    apply = RULES.get(activation.name)
    if apply is None:
        raise UnsupportedError(f"the activation {activation.name} has no rule")
    made = apply(graph, Applied(activation, [x], (x.type,), graph))
    return made if isinstance(made, Tensor) else made[0]


def _fitting(graph: Emitter, op: Any, indices: Tensor) -> Tensor:
    """Return the pairs of tokens and experts (…, tokens, k) within the capacity; first choices precede second ones."""
    *batch, length, k = indices.shape
    if not isinstance(length, int):
        raise UnsupportedError("a capacity of a symbolic number of tokens")
    places = min(op.capacity or length, length)
    if op.capacity_factor is not None:
        places = min(math.ceil(Fraction(str(op.capacity_factor)) * k * length / op.experts), length)
    rank = indices.rank
    by_choice = graph.reshape(graph.swapped(indices), (*batch, k * length))
    is_expert = graph.compare("Equal", graph.unsqueeze(by_choice, [rank - 1]), graph.range(0, op.experts))
    counts = graph.cast(is_expert, "int64")
    arrivals = graph.node("CumSum", [counts, graph.scalar(rank - 2, "int64")], counts.type)
    own = graph.gather_elements(arrivals, graph.unsqueeze(by_choice, [rank - 1]), rank - 1)
    fits = graph.compare("LessOrEqual", graph.squeeze(own, [rank - 1]), graph.scalar(places, "int64"))
    return graph.swapped(graph.reshape(fits, (*batch, k, length)))
