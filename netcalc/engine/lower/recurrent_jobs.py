"""Jobs of recurrent layers, which compute one position in time in each round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.engine.lower.recurrent_gates import cell_update
from netcalc.engine.lower.small_gemm import blocks
from netcalc.engine.native.recurrent import recurrent
from netcalc.engine.step import Buffers, Job
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a layer in one direction: ``ih`` is (features, gates·hidden), ``hh`` (gates·hidden, features).

    ``packed`` is True if ``hh`` is arranged for the compiled kernel.
    """

    ih: Slot
    hh: Slot
    packed: bool
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

    ``products`` are the products of the inputs with the weights, (steps, batch, gates·hidden), in the order of time.
    """

    first: int
    end: int
    products: Slot


class Arrays(NamedTuple):
    """Arrays of a range ``part`` of the hidden features of a layer, positions in the order in which it takes them.

    ``inputs`` are products, (turns, gates·hidden, batch); ``following`` (positions, hidden, batch) is written.
    """

    op: Any
    part: slice
    hh: Array
    inputs: Array
    start: Array
    states: Array
    following: Array
    cell: Array | None
    bias_hn: Array | None


def bind_gates(
    layer: Layer, stretch: Stretch, part: slice, weight_rows: slice, buffers: Buffers, tuning: Tuning
) -> Job:
    """Return the job that computes a range of hidden features: the products with the state, and the cell update.

    ``weight_rows`` are the rows of the weight of the state that belong to it.
    """
    rows = slice(layer.op.gates * part.start, layer.op.gates * part.stop)
    inputs, states = stretch.products.array()[:, :, rows].swapaxes(1, 2), layer.out.array()
    if layer.backwards:
        inputs, states = inputs[::-1], states[::-1]
    if layer.unprojected is None:
        following, final = states[:, part], layer.final.array()[part]
    else:
        raw = layer.unprojected.array()[part]
        following, final = as_strided(raw, (len(states), *raw.shape), (0, *raw.strides)), None
    cell = None if layer.cell is None else layer.cell.array()[part]
    cell_start = None if layer.cell_start is None else layer.cell_start.array()[part]
    bias_hn = None if layer.weights.bias_hn is None else layer.weights.bias_hn.array()[part]
    hh, start = layer.weights.hh.array()[weight_rows], layer.start.array()
    arrays = Arrays(layer.op, part, hh, inputs, start, states, following, cell, bias_hn)
    compute = _by_kernel(arrays, buffers) if layer.weights.packed else _by_ufuncs(arrays, buffers, tuning)
    last = len(states) - 1

    def job(turn: int) -> None:
        time = stretch.first + turn
        if time == 0 and cell is not None:
            cell[...] = 0 if cell_start is None else cell_start
        compute(turn, time)
        if final is not None and time == last:
            final[...] = following[time]

    return job


def _by_kernel(arrays: Arrays, buffers: Buffers) -> Callable[[int, int], None]:
    """Return the function that computes a position of a single sample by the compiled kernel."""
    op = arrays.op
    return recurrent(
        op.nonlinearity if op.name == "rnn" else op.name,
        arrays.hh,
        arrays.inputs[..., 0],
        arrays.start[:, 0],
        arrays.states[..., 0],
        arrays.following[..., 0],
        None if arrays.cell is None else arrays.cell[:, 0],
        None if arrays.bias_hn is None else arrays.bias_hn[:, 0],
        buffers["gates"],
        arrays.part.start,
    )


def _by_ufuncs(arrays: Arrays, buffers: Buffers, tuning: Tuning) -> Callable[[int, int], None]:
    """Return the function that computes a position by NumPy."""
    op, part, hh, inputs, start, states, following, cell, bias_hn = arrays
    batch = inputs.shape[2]
    gates, hidden = buffers.view("gates", (len(hh), batch)), buffers.view("hidden", (part.stop - part.start, batch))
    # the transposes are multiplied: rows of the weight are columns of the product
    width = blocks(batch, hh.shape[1], len(hh), 1, tuning)[1] if batch > 1 else len(hh)
    matrix, products = (array.reshape(-1, width, array.shape[1]) for array in (hh, gates))
    update = cell_update(op)

    def compute(turn: int, time: int) -> None:
        previous = states[time - 1] if time else start
        np.matmul(matrix, previous, products)
        update(gates, inputs[turn], previous[part], following[time], cell, hidden, bias_hn)

    return compute


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
