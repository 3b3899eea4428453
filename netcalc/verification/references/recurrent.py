"""References of :mod:`netcalc.ops.recurrent`: one sequence at a time, by the equations of torch.nn.RNN, LSTM and GRU.

A sequence of a padded batch is cut at its length, which is what its length means; the reverse direction reads it from
its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, parameters, reference
from netcalc.verification.references._sums import double

_GATES = {"rnn": 1, "lstm": 4, "gru": 3}


class _Sequence(NamedTuple):
    """Outputs of the last layer, (steps, features), and the final states of each layer and direction."""

    output: Array
    states: dict[str, list[Array]]


def _gates(op: Attributes) -> int:
    return _GATES[op.name.removesuffix("_cell")]


def _handed_on(op: Attributes) -> int:
    """Return the size of the state h."""
    return int(getattr(op, "proj_size", None) or op.hidden) if op.name == "lstm" else int(op.hidden)


def _logistic(x: Array) -> Array:
    return (1 + np.tanh(x / 2)) / 2


def _step(op: Attributes, x: Array, h: Array, c: Array | None, weight: Mapping[str, Array], suffix: str) -> Any:
    """Return h and c after a step from the input and the states before it."""

    def gate(number: int) -> tuple[Array, Array]:
        """Return what input and state add to a gate, with their biases."""
        rows = slice(number * op.hidden, (number + 1) * op.hidden)
        parts = []
        for kind, vector in (("ih", x), ("hh", h)):
            bias = weight[f"bias_{kind}{suffix}"][rows] if op.bias else 0.0
            parts.append(weight[f"weight_{kind}{suffix}"][rows] @ vector + bias)
        return parts[0], parts[1]

    def added(number: int) -> Array:
        from_input, from_state = gate(number)
        return from_input + from_state

    if op.name.startswith("rnn"):
        summed = added(0)
        return (np.tanh(summed) if op.nonlinearity == "tanh" else np.where(summed < 0, 0.0, summed)), None
    if op.name.startswith("gru"):
        reset, update = (_logistic(added(number)) for number in (0, 1))
        from_input, from_state = gate(2)
        new = np.tanh(from_input + reset * from_state)
        return (1 - update) * new + update * h, None
    entry, forget, out = (_logistic(added(number)) for number in (0, 1, 3))
    c = forget * c + entry * np.tanh(added(2))
    h = out * np.tanh(c)
    return (weight[f"weight_hr{suffix}"] @ h if f"weight_hr{suffix}" in weight else h), c


def _sequence(op: Attributes, x: Array, start: Mapping[str, Array], weight: Mapping[str, Array]) -> _Sequence:
    """Run all layers on one sequence (steps, features)."""
    finals: dict[str, list[Array]] = {"h": [], "c": []}
    for layer in range(op.layers):
        outputs = []
        for backwards in range(2 if op.bidirectional else 1):
            suffix = f"_l{layer}" + ("_reverse" if backwards else "")
            number = len(finals["h"])
            h, c = start["h"][number], start["c"][number]
            produced = []
            for vector in x[::-1] if backwards else x:
                h, c = _step(op, vector, h, c, weight, suffix)
                produced.append(h)
            outputs.append(np.array(produced[::-1] if backwards else produced))
            finals["h"].append(h)
            finals["c"].append(c)
        x = np.concatenate(outputs, axis=-1)
    return _Sequence(x, finals)


@reference("rnn", "gru")
def layers(
    op: Attributes, x: Array, h_0: Array | None = None, lengths: Array | None = None, **weights: Array
) -> tuple[Expected, ...]:
    return _layers(op, x, {"h": h_0}, lengths, weights)


@reference("lstm")
def memory(
    op: Attributes,
    x: Array,
    h_0: Array | None = None,
    c_0: Array | None = None,
    lengths: Array | None = None,
    **weights: Array,
) -> tuple[Expected, ...]:
    return _layers(op, x, {"h": h_0, "c": c_0}, lengths, weights)


def _layers(
    op: Attributes, x: Array, starts: dict[str, Array | None], lengths: Array | None, weights: dict[str, Array]
) -> tuple[Expected, ...]:
    batch_axis = None if x.ndim == 2 else 0 if op.batch_first else 1
    steps = x.shape[1 if batch_axis == 0 else 0]
    batch = () if batch_axis is None else (x.shape[batch_axis],)
    rows = op.layers * (2 if op.bidirectional else 1)
    sizes = {"h": _handed_on(op), "c": op.hidden}
    weight = {name: double(array) for name, array in weights.items()}

    @cache
    def run(sample: int) -> _Sequence:
        sequence = double(x if batch_axis is None else np.take(x, sample, batch_axis))
        start = {}
        for state, size in sizes.items():
            array = starts.get(state)
            start[state] = np.zeros((rows, size)) if array is None else double(array if not batch else array[:, sample])
        return _sequence(op, sequence if lengths is None else sequence[: int(lengths[sample])], start, weight)

    def output(index: Shape) -> float:
        sample = 0 if batch_axis is None else index[batch_axis]
        step = index[1 if batch_axis == 0 else 0]
        computed = run(sample).output
        return float(computed[step, index[-1]]) if step < len(computed) else 0.0

    def final(state: str) -> Expected:
        def at(index: Shape) -> float:
            return float(run(index[1] if batch else 0).states[state][index[0]][index[-1]])

        return Expected((rows, *batch, sizes[state]), x.dtype.name, at, reads)

    dropped = op.training and op.dropout > 0 and op.layers > 1
    # a sequence is computed once, for all of its positions
    reads = steps * sum(array.size for array in weights.values()) // 64
    features = rows // op.layers * _handed_on(op)
    outputs = [Expected((*x.shape[:-1], features), x.dtype.name, output, reads), *map(final, starts)]
    return tuple(expected._replace(at=None) if dropped else expected for expected in outputs)


@reference("rnn_cell", "gru_cell", "lstm_cell")
def cell(
    op: Attributes, x: Array, h_0: Array | None = None, c_0: Array | None = None, **weights: Array
) -> tuple[Expected, ...]:
    weight = {name: double(array) for name, array in weights.items()}
    shape = (*x.shape[:-1], op.hidden)

    def state(number: int) -> Expected:
        def at(index: Shape) -> float:
            *sample, unit = index
            h, c = (np.zeros(op.hidden) if s is None else double(s[tuple(sample)]) for s in (h_0, c_0))
            return float(_step(op, double(x[tuple(sample)]), h, c, weight, "")[number][unit])

        return Expected(shape, x.dtype.name, at, sum(array.size for array in weights.values()))

    return tuple(state(number) for number in range(2 if op.name == "lstm_cell" else 1))


def _weights(op: Attributes, features: int, suffix: str) -> dict[str, Shape]:
    rows = _gates(op) * op.hidden
    shapes: dict[str, Shape] = {f"weight_ih{suffix}": (rows, features), f"weight_hh{suffix}": (rows, _handed_on(op))}
    if op.bias:
        shapes |= {f"bias_ih{suffix}": (rows,), f"bias_hh{suffix}": (rows,)}
    if op.name == "lstm" and op.proj_size:
        shapes[f"weight_hr{suffix}"] = (op.proj_size, op.hidden)
    return shapes


@parameters("rnn", "lstm", "gru")
def layers_parameters(op: Attributes, x: Shape, *others: Shape | None) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    ends = ["", "_reverse"] if op.bidirectional else [""]
    for layer in range(op.layers):
        for end in ends:
            shapes |= _weights(op, len(ends) * _handed_on(op) if layer else x[-1], f"_l{layer}{end}")
    return shapes


@parameters("rnn_cell", "gru_cell", "lstm_cell")
def cell_parameters(op: Attributes, x: Shape, *others: Shape | None) -> dict[str, Shape]:
    return _weights(op, x[-1], "")
