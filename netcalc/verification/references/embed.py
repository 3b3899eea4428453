"""References of :mod:`netcalc.ops.embed`, after torch.nn.Embedding and torch.nn.EmbeddingBag."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references.reduce import norm


def _scale(op: Attributes, row: Array) -> Value:
    """Return the factor that limits the norm of a row to ``max_norm``, with the rounding of the norm."""
    if op.max_norm is None:
        return Value(1.0, 1.0)
    length = norm(row, float(op.norm_type))
    if not length.value > op.max_norm:
        return Value(1.0, 1.0)
    factor = op.max_norm / (length.value + 1e-7)
    return Value(factor, factor * (1 + length.magnitude / length.value))


def _limited(op: Attributes, weight: Array, row: int, feature: int, factor: float) -> Value:
    """Return an element of a table within ``max_norm``, times a factor."""
    element, scale = float(weight[row, feature]) * factor, _scale(op, weight[row])
    return Value(element * scale.value, abs(element) * scale.magnitude)


@parameters("embedding", "embedding_bag")
def table_shape(op: Attributes, *inputs: Shape) -> dict[str, Shape]:
    return {"weight": (op.num_embeddings, op.embedding_dim)}


@reference("embedding")
def embedding(op: Attributes, ids: Array, *, weight: Array) -> Expected:
    def at(index: Shape) -> Value:
        return _limited(op, weight, int(ids[index[:-1]]), index[-1], 1.0 if op.scale is None else op.scale)

    return Expected((*ids.shape, op.embedding_dim), op.dtype, at, 1 if op.max_norm is None else op.embedding_dim)


def _bags(op: Attributes, ids: Array, offsets: Array | None) -> list[list[tuple[int, Shape]]]:
    """Return the ids of each bag, with their places in the input."""
    if offsets is None:
        return [[(int(ids[bag, i]), (bag, i)) for i in range(ids.shape[1])] for bag in range(ids.shape[0])]
    edges = [int(offset) for offset in offsets] + ([] if op.include_last_offset else [len(ids)])
    return [[(int(ids[i]), (i,)) for i in range(*ends)] for ends in pairwise(edges)]


@reference("embedding_bag")
def embedding_bag(
    op: Attributes, ids: Array, offsets: Array | None = None, per_sample_weights: Array | None = None, *, weight: Array
) -> Expected:
    bags = _bags(op, ids, offsets)
    padding = None if op.padding_idx is None else op.padding_idx % op.num_embeddings

    def at(index: Shape) -> Any:
        bag, feature = index
        found = [
            _limited(op, weight, row, feature, 1.0 if per_sample_weights is None else float(per_sample_weights[place]))
            for row, place in bags[bag]
            if row != padding
        ]
        if not found:
            return 0.0
        values, magnitudes, _ = zip(*found, strict=True)
        if op.mode == "max":
            return Value(max(values), max(magnitudes))
        count = len(values) if op.mode == "mean" else 1
        return Value(math.fsum(values) / count, math.fsum(magnitudes) / count)

    longest = max(map(len, bags), default=1)
    return Expected((len(bags), op.embedding_dim), op.dtype, at, longest * (1 if op.max_norm is None else 100))


@reference("one_hot")
def one_hot(op: Attributes, ids: Array) -> Expected:
    return Expected((*ids.shape, op.num_classes), op.dtype, lambda index: int(ids[index[:-1]] == index[-1]))
