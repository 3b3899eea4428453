"""Weights and masks of fused attention, which its kernels never store unless they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, apply
from netcalc.numerics.kernels.attention import visible_pairs
from netcalc.ops.attention import ScaledDotProductAttention


def attention_weights(op: ScaledDotProductAttention, inputs: Sequence[Array | None]) -> Array:
    """Return the weights (…, heads, queries, keys) of an attention, without dropout."""
    fields = {name: getattr(op, name) for name in type(op).model_fields}
    asked = type(op)(**{**fields, "return_weights": True})
    weights: Array = apply(asked, Run(), tuple(inputs), {})[1]
    return weights


def attention_mask(op: ScaledDotProductAttention, inputs: Sequence[Array | None]) -> Array:
    """Return the pairs that may attend, of (…, heads, queries, keys), or of (queries, keys) where heads do not differ.

    A floating-point mask hides the pairs to which it adds −∞, or a number that leaves no weight (below −10⁴).
    """
    query, key, _, mask, padding = [*inputs, None, None][:5]
    assert query is not None and key is not None
    shape = query.shape[-2], key.shape[-2]
    fixed = visible_pairs(op, *shape)
    visible: Array = np.ones(shape, bool) if fixed is None else fixed
    if mask is not None:
        visible = visible & (mask if mask.dtype == bool else mask > _HIDDEN)
    if padding is not None:
        rank = max(query.ndim, key.ndim)
        seen = ~padding[..., None, None, :] if rank > 2 else ~padding
        visible = visible & seen
    return visible


#: Numbers below this hide a pair.
_HIDDEN = -1e4
#: What a fused operation can tell besides its outputs, by the last part of a path.
ASIDES: Mapping[str, Callable[[ScaledDotProductAttention, Sequence[Array | None]], Array]] = {
    "weights": attention_weights,
    "mask": attention_mask,
}
