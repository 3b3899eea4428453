"""Recurrent layers: one product for the inputs of many steps, then step by step a product with the state.

States lie as (features, batch), so that the gates are runs of bytes and the product with a few states is weight ·
state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering, wide_dtype
from netcalc.engine.lower.conv.geometry import shaped
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.gemm import emit_product
from netcalc.engine.lower.recurrent_gates import advance, arrange
from netcalc.engine.lower.small_gemm import blocks
from netcalc.engine.step import Job, Scratch, Step, cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["layers"]


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of one layer in one direction: ``ih`` is (features, gates·hidden), ``hh`` (gates·hidden, features)."""

    ih: Slot
    hh: Slot
    hr: Slot | None
    bias: Slot | None
    bias_hn: Slot | None


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer in one direction; ``x`` is (steps, batch, features) and states are (features, batch)."""

    op: Any
    backwards: bool
    x: Slot
    out: Slot
    start: Slot | None
    final: Slot
    cell_start: Slot | None
    cell: Slot | None
    #: What a projection is of.
    unprojected: Slot | None
    weights: _Weights

    def slots(self) -> list[Slot]:
        """Everything that its steps read or write."""
        found = [getattr(self, name) for name in ("out", "start", "final", "cell_start", "cell", "unprojected")]
        found += [getattr(self.weights, name) for name in ("hh", "hr", "bias_hn")]
        return [slot for slot in found if slot is not None]


class _Stretch(NamedTuple):
    """Steps ``first`` to ``end`` in the order in which a layer takes them, and the products of their inputs.

    Those are (steps, batch, gates·hidden), in the order of time.
    """

    first: int
    end: int
    products: Slot


@lowering("rnn", "lstm", "gru")
def layers(low: Lowering, node: Node) -> bool:
    """All layers of sequences that are all of full length."""
    op = node.op
    given = op.named(node.inputs)
    source = given["input"]
    if "lengths" in given or wide_dtype(source.dtype) != source.dtype or 0 in source.shape:
        return False
    x = low.slot(source)
    batched = len(source.shape) == 3
    if not batched:
        x = x.inserted(1)
    elif op.batch_first:
        x = x.permuted((1, 0, 2))
    steps, batch, _ = x.shape
    order = (0, 2, 1) if batched else (0, 1)
    finals: list[Slot | None] = [low.new(tensor, order) for tensor in node.outputs[1:]]
    starts = [low.slot(given[f"{state}_0"]) if f"{state}_0" in given else None for state in op.states]
    if not batched:
        finals, starts = ([None if s is None else s.inserted(1) for s in slots] for slots in (finals, starts))
    levels: list[list[_Layer]] = []
    for layer in range(op.layers):
        out = low.room((steps, op.directions * op.handed_on, batch), x.dtype)
        level = []
        for direction, suffix in enumerate(op.suffixes(layer)):
            row = layer * op.directions + direction
            of_row = [[None if s is None else _turned(s, row) for s in slots] for slots in (starts, finals)]
            (start, cell_start), (final, cell) = ([*slots, None][:2] for slots in of_row)
            assert final is not None
            part = out.part(1, direction * op.handed_on, op.handed_on)
            weights = _weights(low, node, suffix)
            raw = None if weights.hr is None else low.room((op.hidden, batch), x.dtype)
            level.append(_Layer(op, direction == 1, x, part, start, final, cell_start, cell, raw, weights))
        levels.append(level)
        x = out.permuted((0, 2, 1))
    if not batched:
        x = x.without(1)
    elif op.batch_first:
        x = x.permuted((1, 0, 2))
    low.place(node.outputs[0], x)
    for level in levels:
        _emit(low, node, level)
    return True


def _turned(states: Slot, row: int) -> Slot:
    """One row of (rows, batch, features) as (features, batch)."""
    return states.part(0, row, 1).without(0).permuted((1, 0))


def _weights(low: Lowering, node: Node, suffix: str) -> _Weights:
    op = node.op
    parts = _parts(low, op)

    def ih(out: Array) -> None:
        arrange(op.name, low.fetch(node, f"weight_ih{suffix}"), parts, out.T)

    def hh(out: Array) -> None:
        arrange(op.name, low.fetch(node, f"weight_hh{suffix}"), parts, out)

    def bias(out: Array) -> None:
        inner, outer = (low.fetch(node, f"bias_{name}{suffix}") for name in ("ih", "hh"))
        if op.name == "gru":  # that of the candidate's state product is multiplied by the reset gate
            outer = np.append(outer[: 2 * op.hidden], np.zeros_like(outer[2 * op.hidden :]))
        arrange(op.name, inner + outer, parts, out)

    wide = op.gates * op.hidden
    dtype = node.outputs[0].dtype
    features = low.shape(node, f"weight_ih{suffix}")[1]
    projected = low.param(node, f"weight_hr{suffix}") is not None
    return _Weights(
        ih=low.filled((features, wide), dtype, ih),
        hh=low.filled((wide, op.handed_on), dtype, hh),
        hr=low.stored(node, f"weight_hr{suffix}") if projected else None,
        bias=low.filled((wide,), dtype, bias) if op.bias else None,
        bias_hn=low.made((op.hidden, 1), dtype, lambda: low.fetch(node, f"bias_hh{suffix}")[2 * op.hidden :, None])
        if op.bias and op.name == "gru"
        else None,
    )


def _parts(low: Lowering, op: Any) -> list[tuple[int, int]]:
    """The hidden features that each job has."""
    return cuts(op.hidden, _shares(low, op))


def _shares(low: Lowering, op: Any) -> int:
    """Into how many parts a step in time is cut."""
    return low.parallelism.product_jobs(op.gates * op.hidden * op.handed_on)


def _emit(low: Lowering, node: Node, level: Sequence[_Layer]) -> None:
    """The steps of a layer, stretch by stretch: the products of the inputs, then a round for each step in time."""
    op, (steps, batch, _) = node.op, level[0].x.shape
    gates = op.gates * op.hidden
    length = max(1, min(steps, low.tuning.recurrent_elements // (batch * gates)))
    for first in range(0, steps, length):
        count = min(length, steps - first)
        stretches = []
        for layer in level:
            start = steps - first - count if layer.backwards else first
            x = low.rows(node, layer.x.part(0, start, count), range(3))
            products = low.room((count, batch, gates), layer.out.dtype)
            flat = products.reshaped((count * batch, gates))
            assert flat is not None
            epilogue = Epilogue(low, node, node.outputs[0], [], range(3), layer.weights.bias)
            emit_product(low, node, x, layer.weights.ih, flat, epilogue)
            stretches.append(_Stretch(first, first + count, products))
        _emit_rounds(low, node, level, stretches)


def _emit_rounds(low: Lowering, node: Node, level: Sequence[_Layer], stretches: Sequence[_Stretch]) -> None:
    op, batch = node.op, level[0].x.shape[1]
    count = stretches[0].end - stretches[0].first
    projected = level[0].unprojected is not None
    parts = _parts(low, op)
    outs: list[tuple[int, int]] = [*cuts(op.handed_on, _shares(low, op)), *[(0, 0)] * len(parts)]
    jobs = [(layer, stretch, n) for layer, stretch in zip(level, stretches, strict=True) for n in range(len(parts))]
    most = max(end - start for start, end in parts)
    scratch: list[Scratch] = [((size * most * batch,), level[0].out.dtype) for size in (op.gates, 1)]

    def bind(number: int, arrays: Sequence[Array]) -> Job:
        layer, stretch, n = jobs[number]
        gated = _gated(layer, stretch, slice(*parts[n]), arrays, low.tuning)
        if not projected:
            return gated
        projecting = _projecting(layer, stretch, slice(*outs[n]))
        return lambda turn: (projecting if turn % 2 else gated)(turn // 2)

    reads = [slot for layer in level for slot in layer.slots()] + [stretch.products for stretch in stretches]
    rounds = count * (2 if projected else 1)
    low.emit(Step(node, reads, (level[0].out,), len(jobs), bind, scratch, rounds=rounds, products=True))


def _gated(layer: _Layer, stretch: _Stretch, part: slice, scratch: Sequence[Array], tuning: Tuning) -> Job:
    """A step in time for some hidden features: the products with the state, the gates, and what they let through."""
    op, weights = layer.op, layer.weights
    rows = slice(op.gates * part.start, op.gates * part.stop)
    hh, given = weights.hh.array()[rows], stretch.products.array()[:, :, rows].swapaxes(1, 2)
    states = layer.out.array()
    if layer.backwards:
        given, states = given[::-1], states[::-1]
    batch = given.shape[2]
    start = np.zeros(states.shape[1:], states.dtype) if layer.start is None else layer.start.array()
    raw = None if layer.unprojected is None else layer.unprojected.array()[part]
    cell = None if layer.cell is None else layer.cell.array()[part]
    cell_start = None if layer.cell_start is None else layer.cell_start.array()[part]
    bias_hn = None if weights.bias_hn is None else weights.bias_hn.array()[part]
    final = layer.final.array()[part] if raw is None else None
    z, spare = shaped(scratch[0], (len(hh), batch)), shaped(scratch[1], (part.stop - part.start, batch))
    # rows of the weight take the place of columns: the product is that of the transposes
    width = blocks(batch, hh.shape[1], len(hh), 1, tuning)[1] if batch > 1 else len(hh)
    matrix, sums = (array.reshape(-1, width, array.shape[1]) for array in (hh, z))
    step, last = advance(op), len(states) - 1

    def job(turn: int) -> None:
        time = stretch.first + turn
        before = states[time - 1] if time else start
        if time == 0 and cell is not None:
            cell[...] = 0 if cell_start is None else cell_start
        np.matmul(matrix, before, sums)
        after = states[time, part] if raw is None else raw
        step(z, given[turn], before[part], after, cell, spare, bias_hn)
        if final is not None and time == last:
            final[...] = after

    return job


def _projecting(layer: _Layer, stretch: _Stretch, part: slice) -> Job:
    """What follows in a layer with a projection: some features of the state, from all hidden ones."""
    assert layer.unprojected is not None and layer.weights.hr is not None
    hr, raw = layer.weights.hr.array()[part], layer.unprojected.array()
    states, final = layer.out.array(), layer.final.array()[part]
    if layer.backwards:
        states = states[::-1]

    def job(turn: int) -> None:
        time = stretch.first + turn
        np.matmul(hr, raw, states[time, part])
        if time == len(states) - 1:
            final[...] = states[time, part]

    return job
