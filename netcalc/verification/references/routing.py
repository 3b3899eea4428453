"""References of :mod:`netcalc.ops.routing`, token by token."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from netcalc.verification.references import REFERENCES, Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references._sums import exact_sum
from netcalc.verification.references.sorting import ranked


@parameters("top_k_router")
def router_buffers(op: Attributes, logits: Shape) -> dict[str, Shape]:
    return {"e_score_correction_bias": logits[-1:]} if op.correction_bias else {}


def _scores(op: Attributes, logits: list[float]) -> list[float]:
    if op.scoring == "sigmoid":
        return [0.5 + 0.5 * math.tanh(logit / 2) for logit in logits]
    largest = max(logits)
    powers = [math.exp(logit - largest) for logit in logits]
    return [power / exact_sum(powers) for power in powers]


def _allowed_experts(op: Attributes, choice: list[float]) -> list[int]:
    """Return the experts of the best groups."""
    size = len(choice) // op.groups
    groups = [range(first, first + size) for first in range(0, len(choice), size)]
    if op.groups == 1:
        return list(groups[0])
    best = [sorted((choice[e] for e in group), reverse=True) for group in groups]
    worth = [scores[0] if op.group_score == "max" else scores[0] + scores[1] for scores in best]
    return sorted(e for g in ranked(worth, largest=True)[: op.top_groups] for e in groups[g])


@reference("top_k_router")
def top_k_router(
    op: Attributes, logits: Array, *, e_score_correction_bias: Array | None = None
) -> tuple[Expected, Expected]:
    @cache
    def token(lead: Shape) -> tuple[list[float], list[int]]:
        values = [float(logit) for logit in logits[lead]]
        scores = _scores(op, values) if op.order == "score_first" else values
        bias = [0.0] * len(values) if e_score_correction_bias is None else [float(b) for b in e_score_correction_bias]
        choice = [score + b for score, b in zip(scores, bias, strict=True)]
        # sums of scores and biases are rounded to single precision, which decides between nearly equal experts
        choice = [float(np.float32(score)) for score in choice] if logits.dtype.itemsize <= 4 else choice
        allowed = _allowed_experts(op, choice)
        experts = [allowed[i] for i in ranked([choice[e] for e in allowed], largest=True)[: op.k]]
        weights = [scores[e] for e in experts]
        if op.order == "select_first":
            weights = _scores(op, weights)
        if op.normalize:
            total = exact_sum(weights) + op.eps
            weights = [weight / total for weight in weights]
        return [weight * op.scale for weight in weights], experts

    shape, reads = (*logits.shape[:-1], op.k), logits.shape[-1]
    return (
        Expected(shape, logits.dtype.name, lambda index: token(index[:-1])[0][index[-1]], reads),
        Expected(shape, "int64", lambda index: token(index[:-1])[1][index[-1]], reads),
    )


@parameters("experts")
def expert_weights(op: Attributes, x: Shape, weights: Shape, indices: Shape) -> dict[str, Shape]:
    first, rows = ("gate_up_proj", 2 * op.hidden) if op.gated else ("up_proj", op.hidden)
    shapes: dict[str, Shape] = {first: (op.experts, rows, x[-1]), "down_proj": (op.experts, x[-1], op.hidden)}
    biases: dict[str, Shape] = (
        {f"{first}_bias": (op.experts, rows), "down_proj_bias": (op.experts, x[-1])} if op.bias else {}
    )
    return shapes | biases


def _mlp(op: Attributes, x: Array, expert: int, params: dict[str, Array]) -> tuple[Array, Array]:
    """Return the output of one expert for one token in double precision, and the magnitude of the terms it adds up."""

    def project(vector: Array, name: str) -> Array:
        y = np.array([exact_sum(row * vector) for row in params[name][expert].astype(np.float64)])
        return y + params[f"{name}_bias"][expert].astype(np.float64) if op.bias else y

    def magnitude(vector: Array, name: str) -> Array:
        y: Array = np.abs(params[name][expert].astype(np.float64)) @ np.abs(vector)
        return y + np.abs(params[f"{name}_bias"][expert].astype(np.float64)) if op.bias else y

    activation = Attributes(op.activation, training=False, dtype=op.dtype)

    def activate(value: float) -> Any:
        function = REFERENCES.get(activation.name)
        assert function is not None
        y = function(activation, np.array([value]))
        assert isinstance(y, Expected) and y.at is not None
        result = y.at((0,))
        return result.value if isinstance(result, Value) else result

    if not op.gated:
        inner = np.array([activate(h) for h in project(x, "up_proj")])
        return project(inner, "down_proj"), magnitude(magnitude(x, "up_proj"), "down_proj")
    both, sizes = project(x, "gate_up_proj"), magnitude(x, "gate_up_proj")
    places = slice(None, None, 2) if op.interleaved else slice(op.hidden)
    others = slice(1, None, 2) if op.interleaved else slice(op.hidden, None)
    gate, up = both[places], both[others]
    if op.limit is not None:
        gate, up = np.array([min(g, op.limit) for g in gate]), np.array([min(max(u, -op.limit), op.limit) for u in up])
    inner = np.array([activate(g) * (u + op.up_shift) for g, u in zip(gate, up, strict=True)])
    terms = sizes[places] * (sizes[others] + abs(op.up_shift))
    return project(inner, "down_proj"), magnitude(terms, "down_proj")


def _dropped_pairs(op: Attributes, indices: Array) -> set[Shape]:
    """Return the pairs of token and choice beyond the capacity of their expert; first choices come first."""
    if op.capacity is None and op.capacity_factor is None:
        return set()
    tokens, k = indices.shape[-2:]
    places = op.capacity
    if places is None:
        places = math.ceil(Fraction(str(op.capacity_factor)) * k * tokens / op.experts)
    dropped: set[Shape] = set()
    for lead in np.ndindex(indices.shape[:-2]):
        taken = [0] * op.experts
        for choice in range(k):
            for position in range(tokens):
                expert = int(indices[(*lead, position, choice)])
                taken[expert] += 1
                if taken[expert] > min(places, tokens):
                    dropped.add((*lead, position, choice))
    return dropped


@reference("experts")
def experts(op: Attributes, x: Array, weights: Array, indices: Array, **params: Array) -> Expected:
    dropped = _dropped_pairs(op, indices)

    @cache
    def token(lead: Shape) -> tuple[Array, Array]:
        total, magnitudes = np.zeros(x.shape[-1]), np.zeros(x.shape[-1])
        for choice, expert in enumerate(indices[lead]):
            if (*lead, choice) in dropped:
                continue
            share, tokens = float(weights[(*lead, choice)]), x[lead].astype(np.float64)
            before, after = (share, 1.0) if op.weights_on == "input" else (1.0, share)
            y, magnitude = _mlp(op, tokens * before, int(expert), params)
            total, magnitudes = total + y * after, magnitudes + magnitude * abs(after)
        return total, magnitudes

    def at(index: Shape) -> Value:
        total, magnitudes = token(index[:-1])
        return Value(float(total[index[-1]]), float(magnitudes[index[-1]]))

    reads = indices.shape[-1] * x.shape[-1] * op.hidden * (3 if op.gated else 2)
    return Expected(x.shape, x.dtype.name, at, reads)
