"""Kernels of :mod:`netcalc.ops.recurrent`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, by_port, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.activation import sigmoid
from netcalc.numerics.kernels.rectifier import relu
from netcalc.ops.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

Layers: TypeAlias = RNN | LSTM | GRU
Cell: TypeAlias = RNNCell | LSTMCell | GRUCell
States: TypeAlias = tuple[Array, ...]
#: The new states, and what the backward pass needs besides them: the activated gates.
After: TypeAlias = tuple[States, States]


def _elman(op: RNN | RNNCell, x: Array, h: Array, states: States) -> After:
    return (np.tanh(x + h) if op.nonlinearity == "tanh" else relu(x + h),), ()


def _memory(op: LSTM | LSTMCell, x: Array, h: Array, states: States) -> After:
    i, f, g, o = np.split(x + h, 4, axis=-1)
    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
    c = f * states[1] + i * g
    return (o * np.tanh(c), c), (i, f, g, o)


def _gated(op: GRU | GRUCell, x: Array, h: Array, states: States) -> After:
    reset_x, update_x, new_x = np.split(x, 3, axis=-1)
    reset_h, update_h, new_h = np.split(h, 3, axis=-1)
    reset, update = sigmoid(reset_x + reset_h), sigmoid(update_x + update_h)
    new = np.tanh(new_x + reset * new_h)
    return (new + update * (states[0] - new),), (reset, update, new, new_h)


#: Functions that compute the new states from the products with the input and with the state, biases included.
_STEPS: dict[str, Callable[[Any, Array, Array, States], After]] = {"rnn": _elman, "lstm": _memory, "gru": _gated}


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    y: Array = np.matmul(x, weight.T)
    return y if bias is None else y + bias


def _step(op: Layers | Cell, x: Array, states: States, weights: Mapping[str, Array], suffix: str) -> After:
    """Return the states after one time step and the gates, where ``x`` is the product with the input."""
    h = _affine(states[0], weights[f"weight_hh{suffix}"], weights.get(f"bias_hh{suffix}"))
    (after, *others), gates = _STEPS[op.name.removesuffix("_cell")](op, x, h, states)
    if f"weight_hr{suffix}" in weights:
        after = _affine(after, weights[f"weight_hr{suffix}"], None)
    return (after, *others), gates


def _initial(op: Layers | Cell, x: Array, arrays: Mapping[str, Array], **shapes: tuple[int, ...]) -> States:
    """Return the initial states, zeros where there is no input."""
    return tuple(
        wide(arrays[f"{state}_0"]) if f"{state}_0" in arrays else like(x, np.zeros(shapes[state], x.dtype))
        for state in op.states
    )


@kernel("rnn", "lstm", "gru")
def layers(op: Layers, run: Run, *inputs: Array | None, **weights: Array) -> tuple[Array, ...]:
    arrays = by_port(op, inputs)
    dtype, x = arrays["input"].dtype, wide(arrays["input"])
    weights = {name: wide(weight) for name, weight in weights.items()}
    batched = x.ndim == 3
    if not batched:
        x = x[:, None]
    elif op.batch_first:
        x = x.swapaxes(0, 1)
    steps, batch, _ = x.shape
    valid = _valid(arrays["lengths"], steps) if "lengths" in arrays else None
    suffixes = ("", "_reverse") if op.bidirectional else ("",)
    rows = op.layers * len(suffixes)
    sizes = {"h": (rows, batch, weights["weight_hh_l0"].shape[1]), "c": (rows, batch, op.hidden)}
    states = tuple(s.reshape(rows, batch, -1) for s in _initial(op, x, arrays, **sizes))

    finals: list[States] = []
    traces: list[_Trace] = []
    joints: list[tuple[Array, Array]] = []
    for layer in range(op.layers):
        if layer and run.training and op.dropout:
            passes = like(x, np.asarray(run.rng.random(x.shape))) >= op.dropout
            x = x * like(x, scaled_mask(passes, op.dropout, x.dtype))
            joints.append((np.asarray(x), np.asarray(passes)))
        outputs = []
        for direction, suffix in enumerate(suffixes):
            start = tuple(s[layer * len(suffixes) + direction] for s in states)
            order = range(steps)[:: -1 if direction else 1]
            trace = None if run.kept is None else _Trace(direction > 0)
            output, final = _sequence(op, x, start, weights, f"_l{layer}{suffix}", valid, order, trace)
            traces += [] if trace is None else [trace]
            outputs.append(output)
            finals.append(final)
        x = like(x, np.concatenate(outputs, axis=-1))
    if run.kept is not None:
        _keep(run, traces, joints, dtype)

    ends = [np.stack(parts) for parts in zip(*finals, strict=True)]
    if not batched:
        x, ends = x[:, 0], [end[:, 0] for end in ends]
    elif op.batch_first:
        x = x.swapaxes(0, 1)
    return tuple(array.astype(dtype, copy=False) for array in (x, *ends))


@dataclass(slots=True)
class _Trace:
    """States and gates of a layer in one direction after each time step, in the order of execution."""

    backwards: bool
    states: list[States] = field(default_factory=list)
    gates: list[States] = field(default_factory=list)

    def in_order(self) -> Iterator[tuple[str, Array]]:
        """Yield arrays (steps, batch, …) in the order of time, by the name under which they are kept."""
        turn = slice(None, None, -1 if self.backwards else 1)
        for name, parts in zip(("hidden", "cells"), zip(*self.states, strict=True), strict=False):
            yield name, np.stack([np.asarray(part) for part in parts])[turn]
        if self.gates[0]:
            rows = [np.concatenate([np.asarray(gate) for gate in gates], axis=-1) for gates in self.gates]
            yield "workspace", np.stack(rows)[turn]


def _keep(run: Run, traces: list[_Trace], joints: list[tuple[Array, Array]], dtype: Any) -> None:
    """Keep the states and gates (layers·directions, steps, batch, …), and what dropout passed between layers."""
    arrays_by_name: dict[str, list[Array]] = {}
    for trace in traces:
        for name, array in trace.in_order():
            arrays_by_name.setdefault(name, []).append(array)
    run.keep(**{name: np.stack(arrays).astype(dtype, copy=False) for name, arrays in arrays_by_name.items()})
    if joints:
        inputs, masks = zip(*joints, strict=True)
        run.keep(dropped=np.stack(inputs).astype(dtype, copy=False), result1=np.stack(masks))


def scaled_mask(passes: Array, p: float, dtype: Any) -> Array:
    """Return the factors of dropout: 1/(1 − p) where the mask passes, else zero."""
    scale = 1 / (1 - p) if p < 1 else 0.0
    factors: Array = np.where(np.asarray(passes), dtype.type(scale), dtype.type(0))
    return factors


def _valid(lengths: Array, steps: int) -> Array:
    """Return the mask (steps, batch, 1) of the time steps of each sequence that are not padding."""
    for length in np.asarray(lengths):
        if not 1 <= length <= steps:
            raise RuleError(f"a length should be from 1 to the {steps} steps of the batch, not {length}", code="E602")
    within: Array = np.arange(steps)[:, None] < lengths
    return within[..., None]


def _sequence(
    op: Layers,
    x: Array,
    states: States,
    weights: Mapping[str, Array],
    suffix: str,
    valid: Array | None,
    order: range,
    trace: _Trace | None,
) -> tuple[Array, States]:
    """Run one layer in one direction; return the output at every time step, and the last states."""
    products = _affine(x, weights[f"weight_ih{suffix}"], weights.get(f"bias_ih{suffix}"))
    output = like(x, np.zeros((*x.shape[:-1], states[0].shape[-1]), products.dtype))
    for t in order:
        after, gates = _step(op, products[t], states, weights, suffix)
        if valid is None:
            output[t] = after[0]
            states = after
        else:  # after its end a sequence keeps its state, and its output is zero
            output[t] = select(valid[t], after[0], output[t])
            states = tuple(select(valid[t], new, old) for new, old in zip(after, states, strict=True))
        if trace is not None:
            trace.states.append(states)
            trace.gates.append(gates)
    return output, states


@kernel("rnn_cell", "lstm_cell", "gru_cell")
def cell(op: Cell, run: Run, *inputs: Array | None, **weights: Array) -> tuple[Array, ...]:
    arrays = by_port(op, inputs)
    dtype, x = arrays["input"].dtype, wide(arrays["input"])
    weights = {name: wide(weight) for name, weight in weights.items()}
    shape = (*x.shape[:-1], op.hidden)
    product = _affine(x, weights["weight_ih"], weights.get("bias_ih"))
    after, gates = _step(op, product, _initial(op, x, arrays, h=shape, c=shape), weights, "")
    if run.kept is not None and gates:
        run.keep(workspace=np.concatenate([np.asarray(gate) for gate in gates], axis=-1).astype(dtype, copy=False))
    return tuple(array.astype(dtype, copy=False) for array in after)
