"""Kernels of :mod:`netcalc.ops.routing`."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, apply, kernel, like, wide
from netcalc.numerics.kernels.sorting import ranking, taken
from netcalc.ops.activation import Sigmoid
from netcalc.ops.routing import Experts, TopKRouter
from netcalc.ops.softmax import Softmax


@kernel("top_k_router")
def top_k_router(
    op: TopKRouter, run: Run, logits: Array, *, e_score_correction_bias: Array | None = None
) -> tuple[Array, Array]:
    def score(x: Array) -> Array:
        return apply(Softmax() if op.scoring == "softmax" else Sigmoid(), run, (x,), {})[0]

    scores = wide(logits)
    if op.order == "score_first":
        scores = score(scores)
    choice = scores if e_score_correction_bias is None else scores + e_score_correction_bias
    if op.groups > 1:
        choice = _among_groups(op, run, choice)
    indices = ranking(run, choice, op.k)
    weights = taken(scores, indices)
    if op.order == "select_first":
        weights = score(weights)
    run.keep(result=(scores if op.order == "score_first" else weights).astype(logits.dtype, copy=False))
    if op.normalize:
        total = np.add.reduce(weights, axis=-1, keepdims=True)
        total = total + op.eps if op.eps else total
        run.keep(other=total.astype(logits.dtype, copy=False))
        weights = weights / total
    if op.scale != 1:
        weights = weights * op.scale
    return weights.astype(logits.dtype, copy=False), indices


def _among_groups(op: TopKRouter, run: Run, choice: Array) -> Array:
    """Return ``choice`` with −∞ for the experts outside the best groups."""
    grouped = choice.reshape(*choice.shape[:-1], op.groups, -1)
    if op.group_score == "max":
        worth = np.maximum.reduce(grouped, axis=-1)
    else:
        worth = np.add.reduce(taken(grouped, ranking(run, grouped, 2)), axis=-1)
    allowed = np.zeros(worth.shape, bool)
    np.put_along_axis(allowed, ranking(run, worth, op.top_groups), True, axis=-1)
    return like(choice, np.where(allowed[..., None], grouped, -np.inf).reshape(choice.shape))


@kernel("experts")
def experts(op: Experts, run: Run, x: Array, weights: Array, indices: Array, **params: Array) -> Array:
    k, d = weights.shape[-1], x.shape[-1]
    # (sequences, tokens, k): pairs of a token and an expert
    pairs = (-1, x.shape[-2] if x.ndim > 1 else 1, k)
    chosen = np.asarray(indices).reshape(pairs)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < op.experts:
        message = f"experts are 0 to {op.experts - 1}, and the indices are {chosen.min()} to {chosen.max()}"
        raise RuleError(message, code="E602")
    share = wide(weights).reshape(*pairs, 1)
    tokens = wide(x).reshape(*pairs[:2], 1, d)
    tokens = tokens * share if op.weights_on == "input" else np.broadcast_to(tokens, (*chosen.shape, d), subok=True)
    unlimited = op.capacity is None and op.capacity_factor is None
    mlp = _every_pair if unlimited else _within_capacity
    y = mlp(op, run, tokens, chosen, {name: wide(param) for name, param in params.items()})
    run.keep(down=y)
    if op.weights_on == "output":
        y = y * share
    if run.kept is not None:
        run.kept.update({name: _in_type(array, x.dtype) for name, array in run.kept.items()})
    total: Array = np.add.reduce(y, axis=2)
    return total.reshape(x.shape).astype(x.dtype, copy=False)


def _every_pair(op: Experts, run: Run, tokens: Array, chosen: Array, params: dict[str, Array]) -> Array:
    rows, expert = tokens.reshape(-1, tokens.shape[-1]), chosen.reshape(-1)

    def project(x: Array, name: str) -> Array:
        y = like(x, np.empty((len(x), params[name].shape[1]), x.dtype))
        for number in np.unique(expert):
            its = expert == number
            y[its] = np.matmul(x[its], params[name][number].T)
        return y + params[f"{name}_bias"][expert] if op.bias else y

    return _mlp(op, run, rows, project).reshape(tokens.shape)


def slots(op: Experts, k: int, length: int) -> int:
    """Return the capacity of an expert: the number of tokens of a sequence."""
    places: int = min(op.capacity or length, length)
    if op.capacity_factor is not None:
        places = min(math.ceil(Fraction(str(op.capacity_factor)) * k * length / op.experts), length)
    return places


def _within_capacity(op: Experts, run: Run, tokens: Array, chosen: Array, params: dict[str, Array]) -> Array:
    sequences, length, k, d = tokens.shape
    places = slots(op, k, length)
    # first choices precede second choices
    expert = chosen.transpose(0, 2, 1).reshape(sequences, -1)
    rows = tokens.transpose(0, 2, 1, 3).reshape(sequences, -1, d)
    arrivals = np.add.accumulate(like(tokens, (expert[..., None] == np.arange(op.experts)).astype(np.int64)), axis=1)
    place = taken(arrivals, expert[..., None])[..., 0]
    fits = np.asarray(place <= places)
    index = np.asarray(place - 1)
    run.keep(place=np.where(fits, index, -1))
    sequence, pair = np.nonzero(fits)
    slot = expert[fits], sequence, index[fits]

    def project(x: Array, name: str) -> Array:
        y: Array = np.matmul(x, params[name].transpose(0, 2, 1))
        return y + params[f"{name}_bias"][:, None] if op.bias else y

    filled = like(tokens, np.zeros((op.experts, sequences, places, d), tokens.dtype))
    filled[slot] = rows[fits]
    out = _mlp(op, run, filled.reshape(op.experts, -1, d), project).reshape(filled.shape)
    y = like(tokens, np.zeros(rows.shape, tokens.dtype))
    y[sequence, pair] = out[slot]
    return y.reshape(sequences, k, length, d).transpose(0, 2, 1, 3)


def _in_type(array: Array, dtype: Any) -> Array:
    """Return numbers in the element type of the input; whole numbers and truth values as they are."""
    return array if array.dtype.kind in "bi" else array.astype(dtype, copy=False)


def _mlp(op: Experts, run: Run, x: Array, project: Callable[[Array, str], Array]) -> Array:
    def activated(h: Array) -> Array:
        inner = Run(run.training, run.rng, kept=None if run.kept is None else {}, count=run.count)
        (result,) = apply(op.activation, inner, (h,), {})
        run.keep(**{f"activation_{name}": array for name, array in (inner.kept or {}).items()})
        run.keep(activation_self=h, activation_result=result, activated=result)
        return result

    run.keep(rows=x)
    if not op.gated:
        hidden = activated(project(x, "up_proj"))
        run.keep(hidden=hidden)
        return project(hidden, "down_proj")
    both = project(x, "gate_up_proj")
    run.keep(gate_up=both)
    gate, up = (both[..., ::2], both[..., 1::2]) if op.interleaved else np.split(both, 2, axis=-1)
    if op.limit is not None:
        gate, up = np.minimum(gate, op.limit), np.maximum(np.minimum(up, op.limit), -op.limit)
    gate = activated(gate)
    if op.up_shift:
        up = up + op.up_shift
    hidden = gate * up
    run.keep(up=up, hidden=hidden)
    return project(hidden, "down_proj")
