"""Products of :mod:`netcalc.ops.attention`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels.attention import computed_pairs, grid, rectangles
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._broadcast import summed_to
from netcalc.ops.attention import ScaledDotProductAttention

_QUERY, _KEY, _VALUE, _MASK, _SINKS = 0, 1, 2, 3, 5


class _Pass:
    """The backward pass of one attention: shapes, rectangles of pairs, and saved tensors."""

    def __init__(self, op: ScaledDotProductAttention, back: Back) -> None:
        self.op, self.back = op, back
        query, key = back.shape(_QUERY), back.shape(_KEY)
        self.queries, self.keys = query[-2], key[-2]
        self.computed = computed_pairs(op, self.queries, self.keys)
        self.rectangles = rectangles(self.computed)
        #: rectangles of keys that are seen by the same queries, so that sums over queries are single products
        self.by_key = self.rectangles
        if self.computed is not None:
            self.by_key = [(rows, columns) for columns, rows in rectangles(self.computed.T)]
        self.leading = np.broadcast_shapes(query[:-2], self.heads_of(_KEY)[:-2])
        self.dropped = back.training and bool(op.dropout)

    def heads_of(self, index: int) -> tuple[int, ...]:
        """Return the shape of an input with a head for each query head."""
        shape = self.back.shape(index)
        if not self.op.enable_gqa or index == _QUERY:
            return shape
        return (*shape[:-3], self.back.shape(_QUERY)[-3], *shape[-2:])

    def saved(self, name: str, index: int) -> Array:
        """Return a saved input with a head for each query head."""
        x = wide(self.back.saved[name])
        return x.repeat(self.heads_of(index)[-3] // x.shape[-3], axis=-3) if self.heads_of(index) != x.shape else x

    def unpacked(self, name: str, sink: bool = False) -> tuple[Array, Array | None]:
        """Return saved values of all pairs as a matrix (queries, keys), and of the sink of each query as a column."""
        saved = self.back.saved[name]
        saved = wide(saved) if saved.dtype != bool else saved
        if self.computed is None:  # a row of all pairs, or a matrix already
            saved = saved.reshape(*self.leading, self.queries, self.keys + sink)
        if saved.ndim == len(self.leading) + 2:
            return (saved[..., :-1], saved[..., -1:]) if sink else (saved, None)
        matrix = like(saved, np.zeros((*self.leading, self.queries, self.keys), saved.dtype))
        column = like(saved, np.zeros((*self.leading, self.queries, 1), saved.dtype))
        start = 0
        for rows, columns in self.rectangles:
            width = len(columns) + sink
            part = saved[..., start : start + len(rows) * width].reshape(*self.leading, len(rows), width)
            start += len(rows) * width
            matrix[grid(rows, columns)] = part[..., : len(columns)]
            column[..., rows, :] = part[..., len(columns) :] if sink else 0
        return matrix, column if sink else None

    def summed(self, gradient: Array, index: int) -> Array:
        """Return a gradient for each query head, summed to the shape of an input."""
        shape = self.back.shape(index)
        if self.heads_of(index) != shape:
            groups = (*gradient.shape[:-3], shape[-3], gradient.shape[-3] // shape[-3], *gradient.shape[-2:])
            gradient = np.add.reduce(gradient.reshape(groups), axis=-3)
        return summed_to(gradient, shape)

    def over_queries(self, pairs: Array, x: Array) -> Array:
        """Return the product of the transposed pairs with x (…, queries, features)."""
        leading = np.broadcast_shapes(pairs.shape[:-2], x.shape[:-2])
        y = like(pairs, np.zeros((*leading, self.keys, x.shape[-1]), np.result_type(pairs, x)))
        for rows, columns in self.by_key:
            y[..., columns, :] = np.matmul(pairs[grid(rows, columns)].swapaxes(-1, -2), x[..., rows, :])
        return y

    def over_keys(self, pairs: Array, x: Array) -> Array:
        """Return the product of the pairs with x (…, keys, features)."""
        leading = np.broadcast_shapes(pairs.shape[:-2], x.shape[:-2])
        y = like(pairs, np.zeros((*leading, self.queries, x.shape[-1]), np.result_type(pairs, x)))
        for rows, columns in self.rectangles:
            y[..., rows, :] = np.matmul(pairs[grid(rows, columns)], x[..., columns, :])
        return y


@vjp("scaled_dot_product_attention")
def scaled_dot_product_attention(
    op: ScaledDotProductAttention, back: Back, gradient: Array | None, of_weights: Array | None = None
) -> Gradients:
    through = _Pass(op, back)
    gradients: Gradients = {}
    g = None if gradient is None else wide(gradient)
    if back.wants(_VALUE):
        if g is None:
            gradients[_VALUE] = np.zeros(back.shape(_VALUE))
        else:
            weights, _ = through.unpacked("self" if through.dropped else "result", _has_sinks(back, through))
            gradients[_VALUE] = through.summed(through.over_queries(weights, g), _VALUE)
    if back.wants(_QUERY, _KEY, _MASK, _SINKS):
        gradients |= _through_softmax(op, back, through, g, None if of_weights is None else wide(of_weights))
    return gradients


def _has_sinks(back: Back, through: _Pass) -> bool:
    """Return True if the saved weights that multiply the values include the weights of sinks."""
    return not through.dropped and len(back.inputs) > _SINKS and back.inputs[_SINKS] is not None


def _through_softmax(
    op: ScaledDotProductAttention, back: Back, through: _Pass, g: Array | None, of_weights: Array | None
) -> Gradients:
    """Return the gradients that go through the softmax."""
    sinks = len(back.inputs) > _SINKS and back.inputs[_SINKS] is not None
    share, sink = through.unpacked("result", sinks)
    passes = through.unpacked("result1")[0] if through.dropped else None
    value = through.saved("value", _VALUE)
    factor = 1 / (1 - op.dropout) if op.dropout < 1 else 0.0
    of_scores = like(share, np.zeros(share.shape, share.dtype))
    of_sinks: Any = like(share, np.zeros(1 if sink is None else (*share.shape[:-1], 1), share.dtype))
    for rows, columns in through.rectangles:
        here = grid(rows, columns)
        part = share[here]
        back_to = None if of_weights is None else of_weights[here]
        if g is not None:
            own = np.matmul(g[..., rows, :], value[..., columns, :].swapaxes(-1, -2))
            own = summed_to(own, part.shape)
            back_to = own if back_to is None else own + back_to
        assert back_to is not None
        if passes is not None:
            back_to = back_to * like(part, np.where(passes[here], part.dtype.type(factor), part.dtype.type(0)))
        total = np.add.reduce(part * back_to, axis=-1, keepdims=True)
        if back.wants(_QUERY, _KEY, _MASK):
            of_scores[here] = part * (back_to - total)
        if back.wants(_SINKS):
            assert sink is not None
            of_sinks[..., rows, :] = sink[..., rows, :] * total
    gradients = _to_inputs(op, back, through, of_scores) if back.wants(_QUERY, _KEY, _MASK) else {}
    if back.wants(_SINKS):
        gradients[_SINKS] = _to_sinks(through, of_sinks, back.shape(_SINKS))
    return gradients


def _to_sinks(through: _Pass, of_sinks: Array, shape: tuple[int, ...]) -> Array:
    """Return the gradient of the sinks, from the gradients at the queries that are computed."""
    seen = slice(None) if through.computed is None else through.computed.any(axis=-1)
    of_rows = of_sinks[..., seen, 0]
    axes = tuple(axis for axis in range(of_rows.ndim) if axis != of_rows.ndim - 2)
    total: Array = np.negative(np.add.reduce(of_rows, axis=axes))
    return total.reshape(shape)


def _to_inputs(op: ScaledDotProductAttention, back: Back, through: _Pass, of_scores: Array) -> Gradients:
    """Return the gradients of mask, query and key from the gradients of the scores."""
    gradients: Gradients = {}
    if back.wants(_MASK):
        gradients[_MASK] = summed_to(of_scores, back.shape(_MASK))
    if not back.wants(_QUERY, _KEY):
        return gradients
    of_products = like(of_scores, np.zeros(of_scores.shape, of_scores.dtype))
    capped = None if op.softcap is None else through.unpacked("tanh_result")[0]
    scale = 1 / math.sqrt(back.shape(_QUERY)[-1]) if op.scale is None else op.scale
    for here in (grid(rows, columns) for rows, columns in through.rectangles):
        part = of_scores[here]
        if capped is not None:
            part = part * (1 - capped[here] * capped[here])
        of_products[here] = part if op.scale == 1 else part * scale
    if back.wants(_QUERY):
        gradients[_QUERY] = through.summed(through.over_keys(of_products, through.saved("key", _KEY)), _QUERY)
    if back.wants(_KEY):
        gradients[_KEY] = through.summed(through.over_queries(of_products, through.saved("query", _QUERY)), _KEY)
    return gradients
