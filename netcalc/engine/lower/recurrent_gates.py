"""One step of a recurrent layer, in place: gates are logistic functions as half a hyperbolic tangent.

The rows of the weights are brought into an order in which the gates that are alike lie together, and those of
logistic gates are halved (which is exact), so that one tangent serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from netcalc.numerics.kernels import Array

__all__ = ["GATES", "Advance", "advance", "arrange"]

#: One step: the products with the state and with the input of a step, both (gates·hidden, batch), the state before,
#: where the state after goes, the cell (or None), scratch (hidden, batch), and the bias within a GRU's candidate.
Advance: TypeAlias = Callable[[Array, Array, Array, Array, Any, Array, Any], None]

#: The order in which the gates are taken, of PyTorch's, and how many of the first are logistic.
GATES: dict[str, tuple[tuple[int, ...], int]] = {
    "rnn": ((0,), 0),
    "lstm": ((0, 1, 3, 2), 3),  # input, forget, output; cell
    "gru": ((0, 1, 2), 2),  # reset, update; new
}


def arrange(name: str, array: Array, parts: Sequence[tuple[int, int]], out: Array) -> None:
    """A weight or bias of all gates, halved and reordered: for each part of the hidden features, all its gates."""
    order, logistic = GATES[name]
    gates, row = array.reshape(len(order), -1, *array.shape[1:]), 0
    for start, end in parts:
        for place, gate in enumerate(order):
            factor = array.dtype.type(0.5 if place < logistic else 1)
            np.multiply(gates[gate, start:end], factor, out[row : row + end - start])
            row += end - start


def advance(op: Any) -> Advance:
    """The step of an operation."""
    if op.name == "rnn":
        return _tanh if op.nonlinearity == "tanh" else _relu
    return _lstm if op.name == "lstm" else _gru


def _tanh(z: Array, given: Array, before: Array, after: Array, cell: None, spare: Array, bias: None) -> None:
    np.add(z, given, z)
    np.tanh(z, after)


def _relu(z: Array, given: Array, before: Array, after: Array, cell: None, spare: Array, bias: None) -> None:
    np.add(z, given, z)
    np.maximum(z, z.dtype.type(0), out=after)


def _lstm(z: Array, given: Array, before: Array, after: Array, cell: Array, spare: Array, bias: None) -> None:
    hidden = len(z) // 4
    half = z.dtype.type(0.5)
    np.add(z, given, z)
    np.tanh(z, z)
    gates = z[: 3 * hidden]
    np.multiply(gates, half, gates)
    np.add(gates, half, gates)
    np.multiply(cell, z[hidden : 2 * hidden], cell)
    np.multiply(z[:hidden], z[3 * hidden :], spare)
    np.add(cell, spare, cell)
    np.tanh(cell, spare)
    np.multiply(z[2 * hidden : 3 * hidden], spare, after)


def _gru(z: Array, given: Array, before: Array, after: Array, cell: None, spare: Array, bias: Array | None) -> None:
    hidden = len(z) // 3
    half = z.dtype.type(0.5)
    gates, new = z[: 2 * hidden], z[2 * hidden :]
    np.add(gates, given[: 2 * hidden], gates)
    np.tanh(gates, gates)
    np.multiply(gates, half, gates)
    np.add(gates, half, gates)
    if bias is not None:
        np.add(new, bias, new)
    np.multiply(new, z[:hidden], new)
    np.add(new, given[2 * hidden :], new)
    np.tanh(new, new)
    np.subtract(before, new, spare)
    np.multiply(spare, z[hidden : 2 * hidden], spare)
    np.add(new, spare, after)
