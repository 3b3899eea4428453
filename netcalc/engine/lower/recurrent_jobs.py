"""Jobs of recurrent layers, which compute one position in time in each round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from netcalc.engine.lower.recurrent_gates import cell_update
from netcalc.engine.lower.small_gemm import blocks
from netcalc.engine.step import Buffers, Job
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning

__all__ = ["Layer", "Stretch", "Weights", "bind_gates", "bind_projection"]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a layer in one direction: ``ih`` is (features, gates·hidden), ``hh`` (gates·hidden, features)."""

    ih: Slot
    hh: Slot
    hr: Slot | None
    bias: Slot | None
    bias_hn: Slot | None


@dataclass(frozen=True, slots=True)
class Layer:
    """Layer in one direction; ``x`` is (steps, batch, features), ``out`` and states are (…, features, batch)."""

    op: Any
    backwards: bool
    x: Slot
    out: Slot
    start: Slot
    final: Slot
    cell_start: Slot | None
    cell: Slot | None
    #: Operand of the projection.
    unprojected: Slot | None
    weights: Weights

    def slots(self) -> list[Slot]:
        """Slots that the rounds read or write."""
        own = [self.out, self.start, self.final, self.cell_start, self.cell, self.unprojected]
        return [slot for slot in (*own, self.weights.hh, self.weights.hr, self.weights.bias_hn) if slot is not None]


class Stretch(NamedTuple):
    """Positions ``first`` to ``end`` in the order in which a layer takes them.

    ``products`` are those of their inputs, (steps, batch, gates·hidden), in the order of time.
    """

    first: int
    end: int
    products: Slot


def bind_gates(layer: Layer, stretch: Stretch, part: slice, buffers: Buffers, tuning: Tuning) -> Job:
    """Return the job that computes a range of hidden features: the products with the state, and the cell update."""
    op, weights = layer.op, layer.weights
    rows = slice(op.gates * part.start, op.gates * part.stop)
    hh, inputs = weights.hh.array()[rows], stretch.products.array()[:, :, rows].swapaxes(1, 2)
    states = layer.out.array()
    if layer.backwards:
        inputs, states = inputs[::-1], states[::-1]
    batch = inputs.shape[2]
    start = layer.start.array()
    raw = None if layer.unprojected is None else layer.unprojected.array()[part]
    cell = None if layer.cell is None else layer.cell.array()[part]
    cell_start = None if layer.cell_start is None else layer.cell_start.array()[part]
    bias_hn = None if weights.bias_hn is None else weights.bias_hn.array()[part]
    final = layer.final.array()[part] if raw is None else None
    gates, hidden = buffers.view("gates", (len(hh), batch)), buffers.view("hidden", (part.stop - part.start, batch))
    # the product is that of the transposes: rows of the weight are its columns
    width = blocks(batch, hh.shape[1], len(hh), 1, tuning)[1] if batch > 1 else len(hh)
    matrix, products = (array.reshape(-1, width, array.shape[1]) for array in (hh, gates))
    update, last = cell_update(op), len(states) - 1

    def job(turn: int) -> None:
        time = stretch.first + turn
        previous = states[time - 1] if time else start
        if time == 0 and cell is not None:
            cell[...] = 0 if cell_start is None else cell_start
        np.matmul(matrix, previous, products)
        following = states[time, part] if raw is None else raw
        update(gates, inputs[turn], previous[part], following, cell, hidden, bias_hn)
        if final is not None and time == last:
            final[...] = following

    return job


def bind_projection(layer: Layer, stretch: Stretch, part: slice) -> Job:
    """Return the job that projects all hidden features to a range of the features of the state."""
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
