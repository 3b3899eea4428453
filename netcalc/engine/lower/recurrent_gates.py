"""Cell updates of recurrent layers for one position in time, in place.

Logistic gates are computed as ½ + ½·tanh(x/2).  The rows of the weights are reordered so that the logistic gates lie
together, and halved for these gates (which is exact), so that one call of tanh serves all gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array

#: Computes the next state.  Arguments: the products with the state and with the input, both (gates·hidden, batch); the
#: previous state; the next state, which is written; the cell, which is updated, or None; a scratch array (hidden,
#: batch); the bias within a GRU's candidate, or None.
CellUpdate: TypeAlias = Callable[[Array, Array, Array, Array, Any, Array, Any], None]

#: Order of the gates, as indices of PyTorch's order, and the number of logistic gates, which come first.
GATES: dict[str, tuple[tuple[int, ...], int]] = {
    "rnn": ((0,), 0),
    "lstm": ((0, 1, 3, 2), 3),  # input, forget, output; cell
    "gru": ((0, 1, 2), 2),  # reset, update; new
}


def arrange_gates(name: str, array: Array, parts: Sequence[tuple[int, int]], out: Array) -> None:
    """Write a weight or bias of all gates to ``out``, reordered: for each part of the hidden features, all its gates.

    The rows of logistic gates are halved.
    """
    row = 0
    for part in parts:
        for rows, factor in part_gates(name, array, part):
            np.multiply(rows, factor, out[row : row + len(rows)])
            row += len(rows)


def part_gates(name: str, array: Array, part: tuple[int, int]) -> Iterator[tuple[Array, Any]]:
    """Yield the rows of each gate for a part of the hidden features, in their new order, and what they are times."""
    order, logistic = GATES[name]
    gates = array.reshape(len(order), -1, *array.shape[1:])
    for place, gate in enumerate(order):
        yield gates[gate, slice(*part)], array.dtype.type(0.5 if place < logistic else 1)


def cell_update(op: Any) -> CellUpdate:
    """Return the update of a recurrent operation."""
    if op.name == "rnn":
        return _tanh if op.nonlinearity == "tanh" else _relu
    return _lstm if op.name == "lstm" else _gru


def _tanh(z: Array, inputs: Array, previous: Array, following: Array, cell: None, buffer: Array, bias: None) -> None:
    np.add(z, inputs, z)
    np.tanh(z, following)


def _relu(z: Array, inputs: Array, previous: Array, following: Array, cell: None, buffer: Array, bias: None) -> None:
    np.add(z, inputs, z)
    np.maximum(z, z.dtype.type(0), out=following)


def _lstm(z: Array, inputs: Array, previous: Array, following: Array, cell: Array, buffer: Array, bias: None) -> None:
    hidden = len(z) // 4
    half = z.dtype.type(0.5)
    np.add(z, inputs, z)
    np.tanh(z, z)
    gates = z[: 3 * hidden]
    np.multiply(gates, half, gates)
    np.add(gates, half, gates)
    np.multiply(cell, z[hidden : 2 * hidden], cell)
    np.multiply(z[:hidden], z[3 * hidden :], buffer)
    np.add(cell, buffer, cell)
    np.tanh(cell, buffer)
    np.multiply(z[2 * hidden : 3 * hidden], buffer, following)


def _gru(
    z: Array, inputs: Array, previous: Array, following: Array, cell: None, buffer: Array, bias: Array | None
) -> None:
    hidden = len(z) // 3
    half = z.dtype.type(0.5)
    gates, new = z[: 2 * hidden], z[2 * hidden :]
    np.add(gates, inputs[: 2 * hidden], gates)
    np.tanh(gates, gates)
    np.multiply(gates, half, gates)
    np.add(gates, half, gates)
    if bias is not None:
        np.add(new, bias, new)
    np.multiply(new, z[:hidden], new)
    np.add(new, inputs[2 * hidden :], new)
    np.tanh(new, new)
    np.subtract(previous, new, buffer)
    np.multiply(buffer, z[hidden : 2 * hidden], buffer)
    np.add(new, buffer, following)
