"""Kernels of :mod:`netcalc.ops.recurrent`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Array, Run, apply, by_port, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.activation import sigmoid
from netcalc.numerics.kernels.rectifier import relu
from netcalc.ops.dropout import Dropout
from netcalc.ops.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

Layers: TypeAlias = RNN | LSTM | GRU
Cell: TypeAlias = RNNCell | LSTMCell | GRUCell
States: TypeAlias = tuple[Array, ...]


def _elman(op: RNN | RNNCell, x: Array, h: Array, states: States) -> States:
    return (np.tanh(x + h) if op.nonlinearity == "tanh" else relu(x + h),)


def _memory(op: LSTM | LSTMCell, x: Array, h: Array, states: States) -> States:
    i, f, g, o = np.split(x + h, 4, axis=-1)
    c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def _gated(op: GRU | GRUCell, x: Array, h: Array, states: States) -> States:
    reset_x, update_x, new_x = np.split(x, 3, axis=-1)
    reset_h, update_h, new_h = np.split(h, 3, axis=-1)
    new = np.tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
    return (new + sigmoid(update_x + update_h) * (states[0] - new),)


#: Functions that compute the new states from the products with the input and with the state, biases included.
_STEPS: dict[str, Callable[[Any, Array, Array, States], States]] = {"rnn": _elman, "lstm": _memory, "gru": _gated}


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    y: Array = np.matmul(x, weight.T)
    return y if bias is None else y + bias


def _step(op: Layers | Cell, x: Array, states: States, weights: Mapping[str, Array], suffix: str) -> States:
    """Return the states after one time step, where ``x`` is the product with the input."""
    h = _affine(states[0], weights[f"weight_hh{suffix}"], weights.get(f"bias_hh{suffix}"))
    after, *others = _STEPS[op.name.removesuffix("_cell")](op, x, h, states)
    if f"weight_hr{suffix}" in weights:
        after = _affine(after, weights[f"weight_hr{suffix}"], None)
    return after, *others


def _initial(op: Layers | Cell, x: Array, given: Mapping[str, Array], **shapes: tuple[int, ...]) -> States:
    """Return the initial states, zeros where there is no input."""
    return tuple(
        wide(given[f"{state}_0"]) if f"{state}_0" in given else like(x, np.zeros(shapes[state], x.dtype))
        for state in op.states
    )


@kernel("rnn", "lstm", "gru")
def layers(op: Layers, run: Run, *inputs: Array | None, **weights: Array) -> tuple[Array, ...]:
    given = by_port(op, inputs)
    dtype, x = given["input"].dtype, wide(given["input"])
    weights = {name: wide(weight) for name, weight in weights.items()}
    batched = x.ndim == 3
    if not batched:
        x = x[:, None]
    elif op.batch_first:
        x = x.swapaxes(0, 1)
    steps, batch, _ = x.shape
    valid = _valid(given["lengths"], steps) if "lengths" in given else None
    suffixes = ("", "_reverse") if op.bidirectional else ("",)
    rows = op.layers * len(suffixes)
    sizes = {"h": (rows, batch, weights["weight_hh_l0"].shape[1]), "c": (rows, batch, op.hidden)}
    states = tuple(s.reshape(rows, batch, -1) for s in _initial(op, x, given, **sizes))

    finals: list[States] = []
    for layer in range(op.layers):
        if layer and run.training and op.dropout:
            (x,) = apply(Dropout(p=op.dropout), run, (x,), {})
        outputs = []
        for direction, suffix in enumerate(suffixes):
            start = tuple(s[layer * len(suffixes) + direction] for s in states)
            order = range(steps)[:: -1 if direction else 1]
            output, final = _sequence(op, x, start, weights, f"_l{layer}{suffix}", valid, order)
            outputs.append(output)
            finals.append(final)
        x = like(x, np.concatenate(outputs, axis=-1))

    ends = [np.stack(parts) for parts in zip(*finals, strict=True)]
    if not batched:
        x, ends = x[:, 0], [end[:, 0] for end in ends]
    elif op.batch_first:
        x = x.swapaxes(0, 1)
    return tuple(array.astype(dtype, copy=False) for array in (x, *ends))


def _valid(lengths: Array, steps: int) -> Array:
    """Return the mask (steps, batch, 1) of the time steps of each sequence that are not padding."""
    for length in np.asarray(lengths):
        if not 1 <= length <= steps:
            raise RuleError(f"a length should be from 1 to the {steps} steps of the batch, not {length}", code="E602")
    within: Array = np.arange(steps)[:, None] < lengths
    return within[..., None]


def _sequence(
    op: Layers, x: Array, states: States, weights: Mapping[str, Array], suffix: str, valid: Array | None, order: range
) -> tuple[Array, States]:
    """Run one layer in one direction; return the output at every time step, and the last states."""
    products = _affine(x, weights[f"weight_ih{suffix}"], weights.get(f"bias_ih{suffix}"))
    output = like(x, np.zeros((*x.shape[:-1], states[0].shape[-1]), products.dtype))
    for t in order:
        after = _step(op, products[t], states, weights, suffix)
        if valid is None:
            output[t] = after[0]
            states = after
        else:  # after its end a sequence keeps its state, and its output is zero
            output[t] = select(valid[t], after[0], output[t])
            states = tuple(select(valid[t], new, old) for new, old in zip(after, states, strict=True))
    return output, states


@kernel("rnn_cell", "lstm_cell", "gru_cell")
def cell(op: Cell, run: Run, *inputs: Array | None, **weights: Array) -> tuple[Array, ...]:
    given = by_port(op, inputs)
    dtype, x = given["input"].dtype, wide(given["input"])
    weights = {name: wide(weight) for name, weight in weights.items()}
    shape = (*x.shape[:-1], op.hidden)
    product = _affine(x, weights["weight_ih"], weights.get("bias_ih"))
    after = _step(op, product, _initial(op, x, given, h=shape, c=shape), weights, "")
    return tuple(array.astype(dtype, copy=False) for array in after)
