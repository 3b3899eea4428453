"""Recurrent layers by a compiled kernel, one position in time in each call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.native.library import blocks, bound

#: Cells, in the order of the kernel's numbers.
KINDS = ("tanh", "relu", "lstm", "gru")

#: Vectors of rows of the matrix in a panel.
_PANEL = 4

_POINTERS = ("matrix", "inputs", "start", "states", "out", "cell", "bias", "sums")
_NUMBERS = ("kind", "rows", "hidden", "first", "features", "input_stride", "state_stride", "out_stride", "turn", "time")


class _Recurrent(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_void_p) for name in _POINTERS), *((name, ctypes.c_ssize_t) for name in _NUMBERS))


def packed_rows(rows: int) -> int:
    """Return the number of rows of a packed matrix: those of whole vectors."""
    return -(-rows // _lanes()) * _lanes()


def _lanes() -> int:
    size = blocks()
    assert size is not None
    return size.lanes


def pack(rows: Array, factor: Any, at: int, out: Array) -> None:
    """Write rows of a matrix, multiplied by a factor, to the rows from ``at`` on of a packed matrix."""
    features, flat, most = rows.shape[1], out.reshape(-1), _PANEL * _lanes()
    for first in range(at - at % most, at + len(rows), most):
        width = min(most, len(out) - first)
        panel = flat[first * features :][: width * features].reshape(features, width)
        start, end = max(first, at), min(first + width, at + len(rows))
        np.multiply(rows[start - at : end - at].T, factor, panel[:, start - first : end - first])


def recurrent(
    kind: str,
    matrix: Array,
    inputs: Array,
    start: Array,
    states: Array,
    out: Array,
    cell: Array | None,
    bias: Array | None,
    sums: Array,
    first: int,
) -> Callable[[int, int], None]:
    """Return the function that computes one position, given its number in ``inputs`` and in time.

    Vectors lie without gaps; all arrays are of float32.

    Args:
        kind: the cell, one of :data:`KINDS`.
        matrix: the weights of the state, packed.
        inputs: (turns, rows), the products of the inputs.
        start: (features,), the state before the first position.
        states: (positions, features), from which the states before the others are read.
        out: (positions, hidden), the next states.
        cell: (hidden,), the cell of an LSTM, which is updated.
        bias: (hidden,), the bias within the candidate of a GRU, if it has one.
        sums: scratch for as many elements as there are packed rows.
        first: the first of the hidden features among all.
    """
    arrays = (matrix, inputs, start, states, out, cell, bias, sums)
    rows, hidden, features = inputs.shape[1], out.shape[1], states.shape[1]
    strides = [array.strides[0] // array.itemsize for array in (inputs, states, out)]
    arguments = _Recurrent(
        *(None if array is None else array.ctypes.data for array in arrays),
        *(KINDS.index(kind), rows, hidden, first, features, *strides),
    )
    assert all(array is None or array.dtype == np.float32 for array in arrays)
    call = bound("recurrent", arguments, *arrays)

    def run(turn: int, time: int) -> None:
        arguments.turn, arguments.time = turn, time
        call()

    return run
