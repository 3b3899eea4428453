"""Product of the gated delta rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.chunked_scan import chunked
from netcalc.numerics.vjps import Back, Gradients
from netcalc.numerics.vjps._chunks import of_groups, to_end, turned, unchunked
from netcalc.ops.chunked_scan import GatedDeltaRule


class _Rule:
    """The backward pass of one gated_delta_rule; arrays of positions are (batch, chunks, heads, chunk, features)."""

    def __init__(self, op: GatedDeltaRule, back: Back, gradient: Array | None, last: Array | None) -> None:
        self.op, self.back = op, back
        self.saved = {name: wide(array) for name, array in back.saved.items()}
        self.batch, self.length, self.heads, self.size = back.shape(2)
        self.of_y = None if gradient is None else chunked(wide(gradient), op.chunk)
        self.last = None if last is None else wide(last)
        self.query, self.key, self.value, self.decay, self.beta, self.start = (back.wants(n) for n in range(6))
        self.system = self.key or self.beta or self.decay
        self.states = self.system or self.value or self.start
        model = next(x for x in (self.of_y, self.last) if x is not None)
        self.model = model
        count = -(-self.length // op.chunk)
        self.places = (self.batch, count, self.heads, op.chunk)
        self.features = back.shape(1)[3]
        self.of_start: Array | None = None
        #: the gradient of the sums of decay, without those that only the chunk's end has
        self.of_sums: Any = 0

    def zeros(self, *features: int) -> Array:
        return like(self.model, np.zeros((*self.places, *features), self.model.dtype))

    def chunks(self) -> tuple[Array, Array, Array]:
        """Go from the last chunk to the first: gradients of solution, decayed keys, and decay of the chunk."""
        saved = self.saved
        of_solved, of_keys = self.zeros(self.size + self.features), self.zeros(self.features)
        of_fading = like(self.model, np.zeros(self.places[:3], self.model.dtype))
        of_state = self.last
        for i in reversed(range(self.places[1])):
            of_added = None if self.of_y is None else np.matmul(turned(saved["scores"][:, i]), self.of_y[:, i])
            if of_state is not None:
                own = np.matmul(saved["decayed_key"][:, i], of_state)
                of_added = own if of_added is None else of_added + own
                if self.key or self.decay:
                    of_keys[:, i] = np.matmul(saved["added"][:, i], turned(of_state))
                if self.decay:
                    of_fading[:, i] = np.add.reduce(of_state * saved["states"][:, i], axis=(-2, -1))
            assert of_added is not None
            of_solved[:, i, ..., : self.size] = of_added
            if self.system:
                product = np.matmul(of_added, turned(saved["states"][:, i]))
                of_solved[:, i, ..., self.size :] = np.negative(product)
            if i or self.start:
                of_state = self.before(i, of_state, of_added)
        if self.start:
            self.of_start = of_state
        return of_solved, of_keys, of_fading

    def before(self, i: int, of_state: Array | None, of_added: Array) -> Array:
        """Return the gradient of the state before a chunk."""
        saved = self.saved
        parts = [] if of_state is None else [of_state * saved["fading"][:, i, :, None, None]]
        if self.of_y is not None:
            parts.append(np.matmul(turned(saved["decayed_query"][:, i]), self.of_y[:, i]))
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        prediction = saved["solved"][:, i, ..., self.size :]
        result: Array = total - np.matmul(turned(prediction), of_added)
        return result

    def to_end(self, of_keys: Array, of_fading: Array) -> Array:
        """Return the gradient of the decay of each position, from the gradients of the sums and of the chunk's end."""
        saved = self.saved
        ending = np.add.reduce(of_keys * saved["key"], axis=-1) * saved["remaining"]
        sums = self.of_sums - ending
        end = np.add.reduce(ending, axis=-1) + of_fading * saved["fading"]
        sums[..., -1] = sums[..., -1] + end
        return to_end(sums)

    def pairs(self, of_pairs: Array) -> None:
        """Add the gradient of the sums from the gradient of their differences, at [i, j] for i at or after j."""
        lower = np.tri(self.op.chunk, dtype=bool)
        below = select(lower, of_pairs, np.zeros_like(of_pairs))
        self.of_sums = np.add.reduce(below, axis=-1) - np.add.reduce(below, axis=-2)


def gated_delta_rule(op: GatedDeltaRule, back: Back, gradient: Array | None, last: Array | None = None) -> Gradients:
    """Return the gradients of the inputs by those of the output and the last state."""
    it = _Rule(op, back, gradient, last)
    saved = it.saved
    of_query: Array | None = None
    key_parts: list[Array] = []
    of_pairs: Array | None = None
    of_reads: Array | None = None
    if it.of_y is not None and (it.query or it.key or it.decay):
        of_scores = np.matmul(it.of_y, turned(saved["added"]))
        if it.query or it.decay:
            of_reads = np.matmul(it.of_y, turned(saved["states"]))
        if it.query or it.key:
            of_products = of_scores * saved["between"]
        if it.query:
            assert of_reads is not None
            of_query = np.matmul(of_products, saved["key"]) + of_reads * saved["since"][..., None]
        if it.key:
            key_parts.append(np.matmul(turned(of_products), saved["query"]))
        if it.decay:
            of_pairs = of_scores * saved["scores"]
    of_values, of_writes, of_decay = None, None, None
    if it.states:
        of_solved, of_keys, of_fading = it.chunks()
        if it.system or it.value:
            of_values, of_writes = _of_system(it, of_solved, key_parts, of_pairs, of_reads)
        if it.decay:
            of_decay = it.to_end(of_keys, of_fading)
        if it.key:
            key_parts.append(of_keys * saved["remaining"][..., None])
    gradients: Gradients = {}
    if it.start:
        assert it.of_start is not None
        gradients[5] = it.of_start
    if it.decay:
        assert of_decay is not None
        gradients[3] = unchunked(of_decay[..., None], it.length)[..., 0]
    return gradients | _rule_inputs(it, of_query, key_parts, of_values, of_writes)


def _of_system(
    it: _Rule, of_solved: Array, key_parts: list[Array], of_pairs: Array | None, of_reads: Array | None
) -> tuple[Array, Array | None]:
    """Return the gradients of what the triangular system takes: values, and the keys that are written."""
    saved = it.saved
    solved = saved["solved"]
    if not it.system:
        of_solved, solved = of_solved[..., : it.size], solved[..., : it.size]
    of_right = _solved_transposed(saved["system"], of_solved)
    of_values = of_right[..., : it.size]
    if not it.system:
        return of_values, None
    of_decayed = of_right[..., it.size :]
    below = np.tri(it.op.chunk, k=-1, dtype=bool)
    lost = np.matmul(of_right, turned(solved))
    lost = select(below, lost, np.zeros_like(lost))
    of_writes = None
    if it.key or it.beta:
        of_products = np.negative(lost * saved["between"])
        of_writes = np.matmul(of_products, saved["key"]) + of_decayed * saved["since"][..., None]
        if it.key:
            key_parts.append(np.matmul(turned(of_products), saved["writes"]))
    if it.decay:
        own = lost * saved["system"]
        it.pairs(np.negative(own) if of_pairs is None else of_pairs - own)
        of_since = np.add.reduce(of_decayed * saved["writes"], axis=-1)
        if of_reads is not None:
            of_since = of_since + np.add.reduce(of_reads * saved["query"], axis=-1)
        it.of_sums = it.of_sums + of_since * saved["since"]
    return of_values, of_writes


def _solved_transposed(system: Array, right: Array) -> Array:
    """Return the solution of (1 + the strictly lower triangle of the system)ᵀ·x = right, by back substitution."""
    x = like(right, np.array(right))
    for i in reversed(range(1, system.shape[-1])):
        x[..., :i, :] = x[..., :i, :] - system[..., i, :i, None] * x[..., i : i + 1, :]
    return x


def _rule_inputs(
    it: _Rule, of_query: Array | None, key_parts: list[Array], of_values: Array | None, of_writes: Array | None
) -> Gradients:
    """Return the gradients of query, key, value and beta."""
    saved, back, length = it.saved, it.back, it.length
    gradients: Gradients = {}
    values = None if of_values is None else unchunked(of_values, length)
    writes = None if of_writes is None else unchunked(of_writes, length)
    if it.value:
        assert values is not None
        gradients[2] = values * saved["beta"][..., None]
    if it.beta:
        assert values is not None and writes is not None
        own = np.add.reduce(values * saved["value"], axis=-1)
        gradients[4] = own + np.add.reduce(writes * unchunked(saved["key"], length), axis=-1)
    if it.query:
        if of_query is None:
            gradients[0] = np.zeros(back.shape())
        else:
            scaled = unchunked(of_query, length) * of_query.dtype.type(it.features**-0.5)
            gradients[0] = of_groups(_of_norm(it, "query", scaled), back.shape()[2])
    if it.key:
        assert writes is not None
        total = key_parts[0]
        for part in key_parts[1:]:
            total = total + part
        of_key = unchunked(total, length) + writes * saved["beta"][..., None]
        gradients[1] = of_groups(_of_norm(it, "key", of_key), back.shape(1)[2])
    return gradients


def _of_norm(it: _Rule, name: str, of_normal: Array) -> Array:
    """Return the gradient of queries or keys from the gradient of their normalized values, of length 1."""
    if not it.op.normalize:
        return of_normal
    normal = it.saved[f"normal_{name}"]
    share = np.add.reduce(of_normal * normal, axis=-1, keepdims=True)
    of_x: Array = (of_normal - normal * share) * it.saved[f"inverse_{name}"]
    return of_x
