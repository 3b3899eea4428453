"""Weights of fused attention, which its kernels never store unless they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, apply
from netcalc.ops.attention import ScaledDotProductAttention


def attention_weights(op: ScaledDotProductAttention, inputs: Sequence[Array | None]) -> Array:
    """Return the weights (…, heads, queries, keys) of an attention, without dropout."""
    fields = {name: getattr(op, name) for name in type(op).model_fields}
    asked = type(op)(**{**fields, "return_weights": True})
    weights: Array = apply(asked, Run(), tuple(inputs), {})[1]
    return weights
