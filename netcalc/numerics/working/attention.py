"""Working of attention."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.attention_weights import attention_weights
from netcalc.numerics.working import Call, working
from netcalc.numerics.working.softmax import exponentials
from netcalc.numerics.working.text import (
    MOST,
    ROWS,
    difference,
    indexed,
    listing,
    num,
    products,
    rows,
    shortened,
    total,
)
from netcalc.opdef import WorkingLine
from netcalc.ops.attention import ScaledDotProductAttention


@working("scaled_dot_product_attention")
def attention(call: Call) -> Iterator[WorkingLine]:
    """Yield scores, mask, weights by row, and the output of one head; of one query in detail."""
    op, y = call.op, call.outputs[0]
    assert isinstance(op, ScaledDotProductAttention)
    query, key, value = (call.wide(array) for array in call.inputs[:3])
    head = call.place(y.shape[:-2])
    weights = attention_weights(op, call.inputs)
    own = [_of_head(x, head, y.shape[:-2], grouped=op.enable_gqa) for x in (query, key, value, weights)]
    query, key, value, weights = own
    scale = 1 / math.sqrt(query.shape[-1]) if op.scale is None else op.scale
    products_ = query @ key.T
    for name, array in (("Q", query), ("K", key), ("V", value)):
        yield from rows(indexed(name, head), array)
    yield from rows("Q·Kᵀ", products_)
    scores = products_ * scale
    formula = "Q·Kᵀ/√d" if op.scale is None else "Q·Kᵀ·scale"
    if op.scale is None:
        yield WorkingLine("scale", "1/√d", f"1/√{query.shape[-1]}", scale)
    else:
        yield WorkingLine("scale", "", "", scale)
    if op.softcap is not None:
        scores = op.softcap * np.tanh(scores / op.softcap)
        formula = f"{num(op.softcap)}·tanh({formula}/{num(op.softcap)})"
    hidden, added = _masks(call, op, head, scores.shape)
    if hidden is not None:
        ports = dict(zip(("attn_mask", "key_padding_mask"), call.inputs[3:5], strict=False))
        causes = [name for name in ("causal", "window", "blocks") if getattr(op, name)]
        causes += [name for name, mask in ports.items() if mask is not None]
        hides = f"hides {int(hidden.sum()):,} of {hidden.size:,} pairs"
        yield WorkingLine("mask", "", "", f"{hides}: {', '.join(causes)}")
    if added is not None:
        scores, formula = scores + added, f"{formula} + mask"
    yield from _score_rows(scores, hidden, formula)
    yield from rows("weights", weights)
    row = call.at[len(head)] if len(call.at) > len(head) else len(query) - 1
    yield from _query(call, scores, hidden, weights, value, (*head, row))


def _query(
    call: Call, scores: Array, hidden: Array | None, weights: Array, value: Array, place: tuple[int, ...]
) -> Iterator[WorkingLine]:
    """Yield the softmax of one query, and its output as the weighted sum of the values."""
    row, y = place[-1], call.outputs[0]
    call.place(y.shape)
    seen = np.ones(scores.shape[1], bool) if hidden is None else ~hidden[row]
    visible = scores[row][seen]
    if not visible.size:
        yield WorkingLine(f"query {row}", "", "", "sees no key")
        return
    top, powers, sum_ = exponentials(visible)
    texts = [f"e^({difference(score, top)})" for score in visible]
    if call.inputs[5:] and call.inputs[5] is not None:
        yield WorkingLine(f"query {row}: softmax", "", "", "with a sink, whose weight is dropped")
    else:
        yield WorkingLine(f"query {row}: e", "exp(score − max)", ", ".join(shortened(texts)), listing(powers))
        yield WorkingLine(f"query {row}: sum", "", total(map(num, powers)), sum_)
        quotients = ", ".join(shortened([f"{num(p)}/{num(sum_)}" for p in powers]))
        yield WorkingLine(f"query {row}: weights", "e/sum", quotients, listing(weights[row][seen]))
    for column in range(min(value.shape[1], MOST)):
        text = total(products(weights[row][seen], value[seen, column]))
        yield WorkingLine(indexed("y", (*place, column)), "Σ weight·V", text, float(y[(*place, column)]))


def _score_rows(scores: Array, hidden: Array | None, formula: str) -> Iterator[WorkingLine]:
    """Yield the scores by row; those that a mask hides are −∞."""
    for row in range(min(len(scores), ROWS)):
        shown = [
            "−∞" if hidden is not None and hidden[row, column] else num(score)
            for column, score in enumerate(scores[row])
        ]
        yield WorkingLine(f"scores[{row}]", formula if row == 0 else "", "", ", ".join(shortened(shown)))
    if len(scores) > ROWS:
        yield WorkingLine("scores …", "", "", f"{len(scores) - ROWS:,} more rows")


def _masks(
    call: Call, op: ScaledDotProductAttention, head: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[Array | None, Array | None]:
    """Return the pairs of one head that masks hide, and what a mask adds to its scores; None without."""
    from netcalc.numerics.kernels.attention import visible_pairs

    visible = visible_pairs(op, *shape)
    hidden = np.zeros(shape, bool) if visible is None else ~visible
    added: Array | None = None
    mask, padding = [*call.inputs, None, None, None][3:5]
    if mask is not None:
        own = np.broadcast_to(np.atleast_2d(mask), (*call.outputs[0].shape[:-2], *shape))[head]
        hidden, added = (hidden | ~own, None) if own.dtype == bool else (hidden, own.astype(np.float64))
    if padding is not None:
        lead = padding[head[:1]] if padding.ndim > 1 and head else padding
        hidden = hidden | np.broadcast_to(np.asarray(lead).reshape(-1), shape)
    return hidden if hidden.any() else None, added


def _of_head(array: Array, head: tuple[int, ...], leading: tuple[int, ...], *, grouped: bool) -> Array:
    """Return the matrix of one head of an array whose leading axes broadcast, or whose heads serve several queries."""
    if grouped and array.ndim > 2 and array.shape[-3] != leading[-1]:
        array = array.repeat(leading[-1] // array.shape[-3], axis=-3)
    wide: Array = np.broadcast_to(array, (*leading, *array.shape[-2:]))[head]
    return wide
