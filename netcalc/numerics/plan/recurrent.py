"""Recurrent layers: one product for the inputs of many steps, then step by step a product with the state.

States lie as (features, batch), so that the gates are runs of bytes and the product with a few states is weight ·
state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netcalc.numerics.kernels import Array
from netcalc.numerics.plan.convolution import shaped
from netcalc.numerics.plan.gates import advance, arranged
from netcalc.numerics.plan.graph import Node
from netcalc.numerics.plan.lowering import Lowering, lowering, wide_dtype
from netcalc.numerics.plan.step import Job, Scratch, Step
from netcalc.numerics.plan.storage import Slot
from netcalc.numerics.plan.unpacked import blocks

__all__ = ["layers"]

#: Elements of the inputs' products that are held at a time.
_PRODUCTS = 1 << 20


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
    weights: _Weights

    def slots(self) -> list[Slot]:
        """Everything that it reads or writes."""
        found = [getattr(self, name) for name in ("x", "out", "start", "final", "cell_start", "cell")]
        found += [getattr(self.weights, name) for name in _Weights.__slots__]
        return [slot for slot in found if slot is not None]


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
            level.append(_Layer(op, direction == 1, x, part, start, final, cell_start, cell, weights))
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

    def gates(name: str) -> Array:
        return arranged(op.name, low.fetch(node, f"{name}{suffix}"), op.hidden)

    def bias() -> Array:
        inner, outer = gates("bias_ih"), gates("bias_hh")
        if op.name == "gru":  # that of the candidate's state product is multiplied by the reset gate
            outer[2 * op.hidden :] = 0
        return inner + outer

    wide = op.gates * op.hidden
    dtype = node.outputs[0].dtype
    features = low.shape(node, f"weight_ih{suffix}")[1]
    projected = low.param(node, f"weight_hr{suffix}") is not None
    return _Weights(
        ih=low.made((features, wide), dtype, lambda: gates("weight_ih").T),
        hh=low.made((wide, op.handed_on), dtype, lambda: gates("weight_hh")),
        hr=low.stored(node, f"weight_hr{suffix}") if projected else None,
        bias=low.made((wide,), dtype, bias) if op.bias else None,
        bias_hn=low.made((op.hidden, 1), dtype, lambda: gates("bias_hh")[2 * op.hidden :, None])
        if op.bias and op.name == "gru"
        else None,
    )


def _emit(low: Lowering, node: Node, level: Sequence[_Layer]) -> None:
    """A step for a layer, each direction a job."""
    op, (steps, batch, features), out = node.op, level[0].x.shape, level[0].out
    gates = op.gates * op.hidden
    length = max(1, min(steps, _PRODUCTS // (batch * gates)))
    sizes = [length * batch * features, length * batch * gates, gates * batch, op.hidden * batch, op.hidden * batch]
    scratch: list[Scratch] = [((size,), out.dtype) for size in sizes]

    def bind(number: int, arrays: Sequence[Array]) -> Job:
        parts = [(start, min(start + length, steps)) for start in range(0, steps, length)]
        return lambda: _run(level[number], parts, arrays)

    reads = [slot for layer in level for slot in layer.slots()]
    low.emit(Step(node, reads, (out,), len(level), bind, scratch, products=True))


def _run(layer: _Layer, parts: Sequence[tuple[int, int]], arrays: Sequence[Array]) -> None:
    """All steps of a layer, the inputs of so many of them at a time multiplied at once."""
    op, weights = layer.op, layer.weights
    out, x = layer.out.array(), layer.x.array()
    if layer.backwards:
        out, x = out[::-1], x[::-1]
    _, batch, features = x.shape
    ih, hh = weights.ih.array(), weights.hh.array()
    bias = None if weights.bias is None else weights.bias.array()
    bias_hn = None if weights.bias_hn is None else weights.bias_hn.array()
    hr = None if weights.hr is None else weights.hr.array()
    cell = None if layer.cell is None else layer.cell.array()
    z = shaped(arrays[2], (len(hh), batch))
    spare, unprojected = (shaped(array, (op.hidden, batch)) for array in arrays[3:5])
    # rows of the weight take the place of columns: the product is that of the transposes
    width = blocks(batch, hh.shape[1], len(hh))[1] if batch > 1 else len(hh)
    state, sums = (array.reshape(-1, width, array.shape[1]) for array in (hh, z))
    step = advance(op)
    before = np.zeros(out.shape[1:], out.dtype) if layer.start is None else layer.start.array()
    if cell is not None:
        cell[...] = 0 if layer.cell_start is None else layer.cell_start.array()
    for start, end in parts:
        rows = shaped(arrays[0], (end - start, batch, features))
        np.copyto(rows, x[start:end])
        products = shaped(arrays[1], (end - start, batch, len(hh)))
        np.matmul(rows.reshape(-1, features), ih, products.reshape(-1, len(hh)))
        if bias is not None:
            np.add(products, bias, products)
        for given, after in zip(products.swapaxes(1, 2), out[start:end], strict=True):
            np.matmul(state, before, sums)
            if hr is None:
                step(z, given, before, after, cell, spare, bias_hn)
            else:
                step(z, given, before, unprojected, cell, spare, bias_hn)
                np.matmul(hr, unprojected, after)
            before = after
    layer.final.array()[...] = before
