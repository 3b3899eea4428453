"""Products of :mod:`netcalc.ops.embed`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.embed import bags_of, rows_of
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.embed import Embedding, EmbeddingBag


@vjp("embedding")
def embedding(op: Embedding, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    if op.scale is not None:
        g = g * op.scale
    return {"weight": _table(op, np.asarray(back.saved["indices"]).reshape(-1), g.reshape(-1, g.shape[-1]))}


@vjp("embedding_bag")
def embedding_bag(op: EmbeddingBag, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    if op.mode == "max":
        return {"weight": _largest(op, np.asarray(back.saved["result3"]), g)}
    if op.mode == "mean":
        members = np.asarray(back.saved["result2"])
        g = g / np.where(members, members, 1).astype(g.dtype)[:, None]
    ids = np.asarray(back.saved["indices"])
    if "offsets" in back.saved:
        bag, _ = bags_of(op, np.asarray(back.saved["offsets"]), ids.size)
    else:
        bag = np.repeat(np.arange(len(ids)), ids.shape[1])
    each = g[bag]  # the gradient of the bag of each id
    gradients: Gradients = {}
    if back.wants("weight"):
        factors = back.saved.get("per_sample_weights")
        rows = each if factors is None else each * wide(factors).reshape(-1, 1)
        gradients["weight"] = _table(op, ids.reshape(-1), rows)
    if back.wants(2):
        products = each * wide(rows_of(op, ids.reshape(-1), back.saved["weight"]))
        sums = np.add.reduce(products, axis=-1)
        if op.padding_idx is not None:
            sums = like(g, np.where(ids.reshape(-1) == op.padding_idx % op.num_embeddings, 0, sums))
        gradients[2] = sums.reshape(ids.shape)
    return gradients


def _table(op: Embedding | EmbeddingBag, ids: Array, rows: Array) -> Array:
    """Return the table with the sum of the rows of each id, and zeros for the padding."""
    table = like(rows, np.zeros((op.num_embeddings, op.embedding_dim), rows.dtype))
    np.add.at(table, ids, rows)
    if op.padding_idx is not None:
        table[op.padding_idx] = 0
    return table


def _largest(op: EmbeddingBag, ids: Array, g: Array) -> Array:
    """Return the table with the gradients of the elements that are the largest of a bag; an empty bag has the id −1."""
    table = like(g, np.zeros((op.num_embeddings + 1, op.embedding_dim), g.dtype))
    np.add.at(table, (ids, np.arange(op.embedding_dim)), g)
    return table[:-1]
