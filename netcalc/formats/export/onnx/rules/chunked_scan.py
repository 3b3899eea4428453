"""Recurrences in chunks of positions: products within a chunk, and a Scan from chunk to chunk.

Chunks are no longer than the sequence: their size changes the work and rounding alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from netcalc.dims import ceil_div
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule
from netcalc.formats.export.onnx.rules.scan import in_precision, with_bias
from netcalc.formats.export.onnx.scan import Sequenced, Step, scan


class _Chunks:
    """Sequences (batch, length, heads, …) in chunks, the last of which is padded with zeros."""

    def __init__(self, graph: Emitter, call: Applied, length: int) -> None:
        self._graph, self._length = graph, length
        self.places = min(call.op.chunk, length) if isinstance(length, int) else call.op.chunk
        self._count = ceil_div(length, self.places)
        numbers = graph.range(0, self.places)
        self._rows, self._columns = graph.unsqueeze(numbers, [1]), graph.unsqueeze(numbers, [0])
        self.lower = graph.compare("GreaterOrEqual", self._rows, self._columns)
        self.below = graph.compare("Greater", self._rows, self._columns)

    def of(self, x: Tensor) -> Sequenced:
        """Return a sequence as (batch, chunks, places, heads, …), which is read by chunks."""
        rest = self._count * self.places - self._length
        padded = self._graph.pad(x, [(0, 0), (0, rest), *[(0, 0)] * (x.rank - 2)])
        shape = (x.shape[0], self._count, self.places, *x.shape[2:])
        return Sequenced(self._graph.reshape(padded, shape), 1)

    def scanned(self, start: Tensor, sequences: list[Tensor], step: Step) -> tuple[Tensor, Tensor]:
        """Return the result (batch, length, heads, features) and the last state."""
        graph = self._graph
        (last,), (y,) = scan(graph, [start], [self.of(x) for x in sequences], step, [1])
        y = graph.reshape(y, (y.shape[0], self._count * self.places, *y.shape[3:]))
        return (y if y.shape[1] == self._length else graph.slice(y, 1, 0, self._length)), last

    def between(self, inner: Emitter, decay: Tensor) -> Tensor:
        """Return e to the power of the sum over the places after j up to i, at [i, j]; zero where j is after i.

        The sums are added up for each j: a difference of sums from the beginning would lose the digits of small ones.
        """
        zero, none = inner.scalar(0.0, decay), inner.scalar(-math.inf, decay)
        repeated = inner.where(self.below, inner.unsqueeze(decay, [3]), zero)
        sums = inner.node("CumSum", [repeated, inner.scalar(2, "int64")], repeated.type)
        return inner.unary("Exp", inner.where(self.lower, sums, none))

    def levels(self) -> list[Tensor]:
        """Return, for blocks of 1, 2, 4, … places, the mask of the lower left block of every two blocks."""
        graph, size, masks = self._graph, 1, []
        while size < self.places:
            row, column = (graph.div(numbers, size) for numbers in (self._rows, self._columns))
            pair = graph.compare("Equal", *(graph.div(numbers, 2 * size) for numbers in (self._rows, self._columns)))
            masks.append(graph.binary("And", pair, graph.compare("Greater", row, column)))
            size *= 2
        return masks


def _inverse(inner: Emitter, system: Tensor, levels: list[Tensor]) -> Tensor | None:
    """Return the inverse of 1 + the strictly lower triangle of a system; None for the identity.

    It is forward substitution by blocks of 1, 2, 4, … places: where A and B are inverses of neighboring blocks and C is
    the block below A, −B·C·A is what lies between them.
    """
    inverse, zero = None, inner.scalar(0.0, system)
    for level in levels:
        below = inner.where(level, system, zero)
        if inverse is None:
            places = system.shape[-1]
            numbers = inner.range(0, places)
            is_diagonal = inner.compare("Equal", inner.unsqueeze(numbers, [1]), inner.unsqueeze(numbers, [0]))
            inverse = inner.sub(inner.cast(is_diagonal, system.dtype), below)
        else:
            inverse = inner.sub(inverse, inner.matmul(inverse, inner.matmul(below, inverse)))
    return inverse


def _by_head(inner: Emitter, x: Tensor, heads: int) -> Tensor:
    """Return a chunk (batch, places, groups, …) as (batch, heads, places, …), with the group of each head."""
    x = inner.swapped(x, 1, 2)
    batch, groups, *rest = x.shape
    if groups == heads:
        return x
    spread = inner.expand(inner.unsqueeze(x, [2]), (batch, groups, heads // groups, *rest))
    return inner.reshape(spread, (batch, heads, *rest))


def _start(graph: Emitter, call: Applied, named: Mapping[str, Tensor]) -> Tensor:
    state = call.outputs[1]
    return named["initial_state"] if "initial_state" in named else graph.zeros(state.shape, state.dtype)


def _edges(inner: Emitter, decay: Tensor, between: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the decays from the start of a chunk up to each place, from each place to the end, and over the chunk."""
    upto = inner.node("CumSum", [decay, inner.scalar(2, "int64")], decay.type)
    since = inner.unsqueeze(inner.unary("Exp", upto), [3])
    places = decay.shape[-1]
    remaining = inner.swapped(inner.slice(between, 2, places - 1, places))
    return since, remaining, inner.slice(since, 2, places - 1, places)


@rule("ssd_scan")
def ssd_scan(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Scan over chunks whose state is (batch, heads, size, state)."""
    op, named = call.op, in_precision(graph, call, call.outputs[1].dtype)
    u, heads = named["u"], int(call.outputs[1].shape[1])
    delta = with_bias(graph, call, named["delta"], named.get("delta_bias"))
    delta = graph.clip(delta, float(op.delta_min), None if op.delta_max is None else float(op.delta_max))
    chunks = _Chunks(graph, call, u.shape[1])

    def step(inner: Emitter, states: list[Tensor], items: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        decay, written, b, c = (_by_head(inner, item, heads) for item in items)
        between = chunks.between(inner, decay)
        since, remaining, fading = _edges(inner, decay, between)
        scores = inner.mul(inner.matmul(c, inner.swapped(b)), between)
        read = inner.mul(inner.matmul(c, inner.swapped(states[0])), since)
        y = inner.add(inner.matmul(scores, written), read)
        added = inner.matmul(inner.swapped(written), inner.mul(b, remaining))
        return [inner.add(inner.mul(states[0], fading), added)], [inner.swapped(y, 1, 2)]

    sequences = [graph.mul(delta, named["a"]), graph.mul(u, graph.unsqueeze(delta, [3])), named["B"], named["C"]]
    y, last = chunks.scanned(_start(graph, call, named), sequences, step)
    if "D" in named:
        y = graph.add(y, graph.mul(u, graph.unsqueeze(named["D"], [1])))
    return [graph.cast(y, call.output.dtype), last]


@rule("gated_delta_rule")
def gated_delta_rule(graph: Emitter, call: Applied) -> list[Tensor]:
    """Return a Scan over chunks whose state is (batch, heads, d_k, d_v)."""
    named = in_precision(graph, call, call.outputs[1].dtype)
    query, key, value = named["query"], named["key"], named["value"]
    heads, features = map(int, call.outputs[1].shape[1:3])
    if call.op.normalize:
        query, key = _unit_vectors(graph, query), _unit_vectors(graph, key)
    query = graph.mul(query, features**-0.5)
    chunks = _Chunks(graph, call, value.shape[1])
    levels = chunks.levels()

    def step(inner: Emitter, states: list[Tensor], items: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        q, k, v, decay, beta = (_by_head(inner, item, heads) for item in items)
        beta = inner.unsqueeze(beta, [3])
        between = chunks.between(inner, decay)
        since, remaining, fading = _edges(inner, decay, between)
        system = inner.mul(inner.matmul(inner.mul(k, beta), inner.swapped(k)), between)
        predicted = inner.matmul(inner.mul(k, since), states[0])
        added = inner.mul(inner.sub(v, predicted), beta)
        inverse = _inverse(inner, system, levels)
        if inverse is not None:
            added = inner.matmul(inverse, added)
        scores = inner.mul(inner.matmul(q, inner.swapped(k)), between)
        y = inner.add(inner.matmul(inner.mul(q, since), states[0]), inner.matmul(scores, added))
        written = inner.matmul(inner.swapped(inner.mul(k, remaining)), added)
        return [inner.add(inner.mul(states[0], fading), written)], [inner.swapped(y, 1, 2)]

    sequences = [query, key, value, named["decay"], named["beta"]]
    y, last = chunks.scanned(_start(graph, call, named), sequences, step)
    return [graph.cast(y, call.output.dtype), last]


def _unit_vectors(graph: Emitter, x: Tensor) -> Tensor:
    squares = graph.add(graph.sum(graph.mul(x, x), [-1]), 1e-6)
    return graph.mul(x, graph.unary("Reciprocal", graph.unary("Sqrt", squares)))
