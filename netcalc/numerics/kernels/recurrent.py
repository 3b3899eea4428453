"""Kernels of :mod:`netcalc.ops.recurrent`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, by_port, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.activation import sigmoid
from netcalc.numerics.kernels.norm import affine, standardized
from netcalc.numerics.kernels.rectifier import relu
from netcalc.ops.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

Layers: TypeAlias = RNN | LSTM | GRU
Cell: TypeAlias = RNNCell | LSTMCell | GRUCell
States: TypeAlias = tuple[Array, ...]
#: What layer norms make of products and cell state, before their gains, and the reciprocal roots of their variances.
Norms: TypeAlias = dict[str, Array]
#: The new states, and what the backward pass needs besides them: the activated gates.
After: TypeAlias = tuple[States, States]
#: The function of the cell state before its tanh.
Finish: TypeAlias = Callable[[Array], Array]
#: Numbers of gates whose sums are normalized together.
NORM_GROUPS = {"lstm": (4,), "gru": (2, 1)}


def _elman(op: RNN | RNNCell, x: Array, h: Array, states: States, finish: Finish) -> After:
    return (np.tanh(x + h) if op.nonlinearity == "tanh" else relu(x + h),), ()


def _memory(op: LSTM | LSTMCell, x: Array, h: Array, states: States, finish: Finish) -> After:
    i, f, g, o = np.split(x + h, 4, axis=-1)
    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
    c = f * states[1] + i * g
    return (o * np.tanh(finish(c)), c), (i, f, g, o)


def _gated(op: GRU | GRUCell, x: Array, h: Array, states: States, finish: Finish) -> After:
    reset_x, update_x, new_x = np.split(x, 3, axis=-1)
    reset_h, update_h, new_h = np.split(h, 3, axis=-1)
    reset, update = sigmoid(reset_x + reset_h), sigmoid(update_x + update_h)
    new = np.tanh(new_x + reset * new_h)
    return (new + update * (states[0] - new),), (reset, update, new, new_h)


#: Functions that compute the new states from the products with the input and with the state, biases included.
_STEPS: dict[str, Callable[[Any, Array, Array, States, Finish], After]] = {
    "rnn": _elman,
    "lstm": _memory,
    "gru": _gated,
}


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    y: Array = np.matmul(x, weight.T)
    return y if bias is None else y + bias


def _part(op: Layers | Cell, kind: str, x: Array, weights: Mapping[str, Array], suffix: str, norms: Norms) -> Array:
    """Return what the input (``ih``) or the state (``hh``) adds to the gates; put normalized products in ``norms``."""
    weight, bias = weights[f"weight_{kind}{suffix}"], weights.get(f"bias_{kind}{suffix}")
    gain = weights.get(f"gain_{kind}{suffix}")
    if gain is None:
        return _affine(x, weight, bias)
    groups = NORM_GROUPS[op.name.removesuffix("_cell")]
    return _normalized(op, kind, np.matmul(x, weight.T), [gates * op.hidden for gates in groups], gain, bias, norms)


def _normalized(
    op: Any, kind: str, x: Array, sizes: Sequence[int], gain: Array, bias: Array | None, norms: Norms
) -> Array:
    """Return x normalized in groups of these sizes, by gain and bias; keep the normalized numbers and the roots."""
    groups = np.split(x, np.cumsum(sizes)[:-1], axis=-1)
    parts = [standardized(group, (-1,), op.eps) for group in groups]
    normal = like(x, np.concatenate([part[0] for part in parts], axis=-1))
    norms[f"normal_{kind}"] = normal
    norms[f"root_{kind}"] = like(x, np.concatenate([part[2] for part in parts], axis=-1))
    return affine(normal, gain, bias)


def _step(
    op: Layers | Cell, x: Array, states: States, weights: Mapping[str, Array], suffix: str, norms: Norms
) -> After:
    """Return the states after one time step and the gates, where ``x`` is the product with the input."""

    def finish(c: Array) -> Array:
        gain = weights.get(f"gain_c{suffix}")
        return c if gain is None else _normalized(op, "c", c, [op.hidden], gain, weights.get(f"bias_c{suffix}"), norms)

    h = _part(op, "hh", states[0], weights, suffix, norms)
    (after, *others), gates = _STEPS[op.name.removesuffix("_cell")](op, x, h, states, finish)
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
    #: What layer norms make of the products with the input, of all time steps.
    of_input: Norms = field(default_factory=dict)
    #: The same of each time step.
    norms: list[Norms] = field(default_factory=list)

    def in_order(self) -> Iterator[tuple[str, Array]]:
        """Yield arrays (steps, batch, …) in the order of time, by the name under which they are kept."""
        turn = slice(None, None, -1 if self.backwards else 1)
        for name, parts in zip(("hidden", "cells"), zip(*self.states, strict=True), strict=False):
            yield name, np.stack([np.asarray(part) for part in parts])[turn]
        if self.gates[0]:
            rows = [np.concatenate([np.asarray(gate) for gate in gates], axis=-1) for gates in self.gates]
            yield "workspace", np.stack(rows)[turn]
        for name, array in self.of_input.items():
            yield name, np.asarray(array)
        for name in self.norms[0]:
            yield name, np.stack([np.asarray(norms[name]) for norms in self.norms])[turn]


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
    of_input: Norms = {}
    products = _part(op, "ih", x, weights, suffix, of_input)
    if trace is not None:
        trace.of_input = of_input
    output = like(x, np.zeros((*x.shape[:-1], states[0].shape[-1]), products.dtype))
    for t in order:
        norms: Norms = {}
        after, gates = _step(op, products[t], states, weights, suffix, norms)
        if valid is None:
            output[t] = after[0]
            states = after
        else:  # after its end a sequence keeps its state, and its output is zero
            output[t] = select(valid[t], after[0], output[t])
            states = tuple(select(valid[t], new, old) for new, old in zip(after, states, strict=True))
        if trace is not None:
            trace.states.append(states)
            trace.gates.append(gates)
            trace.norms.append(norms)
    return output, states


@kernel("rnn_cell", "lstm_cell", "gru_cell")
def cell(op: Cell, run: Run, *inputs: Array | None, **weights: Array) -> tuple[Array, ...]:
    arrays = by_port(op, inputs)
    dtype, x = arrays["input"].dtype, wide(arrays["input"])
    weights = {name: wide(weight) for name, weight in weights.items()}
    shape = (*x.shape[:-1], op.hidden)
    norms: Norms = {}
    product = _part(op, "ih", x, weights, "", norms)
    after, gates = _step(op, product, _initial(op, x, arrays, h=shape, c=shape), weights, "", norms)
    if run.kept is not None and gates:
        run.keep(workspace=np.concatenate([np.asarray(gate) for gate in gates], axis=-1).astype(dtype, copy=False))
        run.keep(**{name: np.asarray(array).astype(dtype, copy=False) for name, array in norms.items()})
    return tuple(array.astype(dtype, copy=False) for array in after)
