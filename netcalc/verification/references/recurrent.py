"""References of :mod:`netcalc.ops.recurrent`: one sequence at a time, by the equations of torch.nn.RNN, LSTM and GRU.

A sequence of a padded batch is cut at its length, which is what its length means; the reverse direction reads it from
its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references._sums import double

_GATES = {"rnn": 1, "lstm": 4, "gru": 3}
#: Numbers smaller than this share of their terms may be 0 by rounding.
_NEAR_ZERO = 1e-4


class _Sequence(NamedTuple):
    """Outputs of the last layer, (steps, features), and the final states of each layer and direction."""

    output: _Rounded
    states: dict[str, list[_Rounded]]


def _gates(op: Attributes) -> int:
    return _GATES[op.name.removesuffix("_cell")]


def _handed_on(op: Attributes) -> int:
    """Return the size of the state h."""
    return int(getattr(op, "proj_size", None) or op.hidden) if op.name == "lstm" else int(op.hidden)


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Values, and the magnitudes to which the errors of their rounding are relative, carried on to first order."""

    value: Array
    magnitude: Array

    @classmethod
    def of(cls, value: Array) -> _Rounded:
        """Return values that are exact but for their own rounding."""
        return cls(value, np.abs(value))

    def __add__(self, other: _Rounded) -> _Rounded:
        return _Rounded(self.value + other.value, self.magnitude + other.magnitude)

    def __mul__(self, other: _Rounded) -> _Rounded:
        carried = np.abs(self.value) * other.magnitude + self.magnitude * np.abs(other.value)
        return _Rounded(self.value * other.value, carried)

    def mapped(self, value: Array, slope: Array) -> _Rounded:
        """Return the values of a function with its slopes."""
        return _Rounded(value, np.abs(value) + slope * self.magnitude)

    def tanh(self) -> _Rounded:
        """Return the hyperbolic tangent."""
        value = np.tanh(self.value)
        return self.mapped(value, 1 - value**2)

    def logistic(self) -> _Rounded:
        """Return 1/(1 + e^−x)."""
        small = np.exp(-np.abs(self.value))
        value = np.where(self.value < 0, small, 1.0) / (1 + small)
        return self.mapped(value, value * (1 - value))

    def relu(self) -> _Rounded:
        """Return max(0, x), whose slope is open where x is a rounding of 0."""
        return self.mapped(
            np.where(self.value < 0, 0.0, self.value), 1.0 * ~(self.value < -_NEAR_ZERO * self.magnitude)
        )

    def normalized(self, eps: float) -> _Rounded:
        """Return (x − mean)/√(variance + eps)."""
        root = 1 / np.sqrt(self.value.var() + eps)
        value = (self.value - self.value.mean()) * root
        carried = root * (self.magnitude + self.magnitude.mean())
        return _Rounded(value, np.abs(value) + carried + np.abs(value) * np.mean(np.abs(value) * carried))

    def complement(self) -> _Rounded:
        """Return 1 − x."""
        return _Rounded(1 - self.value, 1 + self.magnitude)


def _product(weight: Array, vector: _Rounded) -> _Rounded:
    return _Rounded(weight @ vector.value, np.abs(weight) @ vector.magnitude)


def _step(
    op: Attributes, x: _Rounded, h: _Rounded, c: _Rounded, weight: Mapping[str, Array], suffix: str
) -> tuple[_Rounded, _Rounded]:
    """Return h and c after a step from the input and the states before it; c is that of an LSTM."""

    def affine(kind: str, part: _Rounded) -> _Rounded:
        gain = weight.get(f"gain_{kind}{suffix}")
        part = part if gain is None else part * _Rounded.of(gain)
        has_bias = op.bias is True or (op.bias == "input" and kind == "ih")
        return part + _Rounded.of(weight[f"bias_{kind}{suffix}"]) if has_bias else part

    def sums(kind: str, vector: _Rounded) -> _Rounded:
        """Return what input or state add to all gates."""
        raw = _product(weight[f"weight_{kind}{suffix}"], vector)
        if not getattr(op, "layer_norm", False):
            return affine(kind, raw)
        # a GRU's gates are normalized together, and its candidate alone
        cut = 4 * op.hidden if op.name.startswith("lstm") else 2 * op.hidden
        ranges = [slice(0, cut), slice(cut, None)][: 1 if cut == len(raw.value) else 2]
        normal = [_Rounded(raw.value[r], raw.magnitude[r]).normalized(op.eps) for r in ranges]
        value, magnitude = (
            np.concatenate(rows) for rows in zip(*((n.value, n.magnitude) for n in normal), strict=True)
        )
        return affine(kind, _Rounded(value, magnitude))

    of_input, of_state = sums("ih", x), sums("hh", h)

    def gate(number: int) -> tuple[_Rounded, _Rounded]:
        """Return what input and state add to a gate, with their biases."""
        rows = slice(number * op.hidden, (number + 1) * op.hidden)
        both = [_Rounded(part.value[rows], part.magnitude[rows]) for part in (of_input, of_state)]
        return both[0], both[1]

    def added(number: int) -> _Rounded:
        from_input, from_state = gate(number)
        return from_input + from_state

    if op.name.startswith("rnn"):
        return (added(0).tanh() if op.nonlinearity == "tanh" else added(0).relu()), c
    if op.name.startswith("gru"):
        reset, update = (added(number).logistic() for number in (0, 1))
        from_input, from_state = gate(2)
        new = (from_input + reset * from_state).tanh()
        return update.complement() * new + update * h, c
    entry, forget, out = (added(number).logistic() for number in (0, 1, 3))
    c = forget * c + entry * added(2).tanh()
    finished = affine("c", c.normalized(op.eps)) if getattr(op, "layer_norm", False) else c
    h = out * finished.tanh()
    return (_product(weight[f"weight_hr{suffix}"], h) if f"weight_hr{suffix}" in weight else h), c


def _stacked(rows: list[_Rounded]) -> _Rounded:
    return _Rounded(np.array([row.value for row in rows]), np.array([row.magnitude for row in rows]))


def _sequence(op: Attributes, inputs: Array, start: Mapping[str, Array], weight: Mapping[str, Array]) -> _Sequence:
    """Run all layers on one sequence (steps, features)."""
    x = _Rounded.of(inputs)
    finals: dict[str, list[_Rounded]] = {"h": [], "c": []}
    for layer in range(op.layers):
        outputs = []
        for backwards in range(2 if op.bidirectional else 1):
            suffix = f"_l{layer}" + ("_reverse" if backwards else "")
            number = len(finals["h"])
            h, c = (_Rounded.of(start[state][number]) for state in ("h", "c"))
            produced = []
            steps = range(len(inputs))
            for step in reversed(steps) if backwards else steps:
                h, c = _step(op, _Rounded(x.value[step], x.magnitude[step]), h, c, weight, suffix)
                produced.append(h)
            outputs.append(_stacked(produced[::-1] if backwards else produced))
            finals["h"].append(h)
            finals["c"].append(c)
        x = _Rounded(
            np.concatenate([output.value for output in outputs], axis=-1),
            np.concatenate([output.magnitude for output in outputs], axis=-1),
        )
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

    def output(index: Shape) -> Value | float:
        sample = 0 if batch_axis is None else index[batch_axis]
        step = index[1 if batch_axis == 0 else 0]
        computed = run(sample).output
        return _value(computed, (step, index[-1])) if step < len(computed.value) else 0.0

    def final(state: str) -> Expected:
        def at(index: Shape) -> Value:
            return _value(run(index[1] if batch else 0).states[state][index[0]], index[-1:])

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
        def at(index: Shape) -> Value:
            *sample, unit = index
            h, c = (np.zeros(op.hidden) if s is None else double(s[tuple(sample)]) for s in (h_0, c_0))
            vector = double(x[tuple(sample)])
            states = _step(op, _Rounded.of(vector), _Rounded.of(h), _Rounded.of(c), weight, "")
            return _value(states[number], (unit,))

        return Expected(shape, x.dtype.name, at, sum(array.size for array in weights.values()))

    return tuple(state(number) for number in range(2 if op.name == "lstm_cell" else 1))


def _value(numbers: _Rounded, index: Shape) -> Value:
    return Value(float(numbers.value[index]), float(numbers.magnitude[index]))


def _weights(op: Attributes, features: int, suffix: str) -> dict[str, Shape]:
    rows = _gates(op) * op.hidden
    shapes: dict[str, Shape] = {f"weight_ih{suffix}": (rows, features), f"weight_hh{suffix}": (rows, _handed_on(op))}
    if getattr(op, "layer_norm", False):
        shapes |= {f"gain_ih{suffix}": (rows,), f"gain_hh{suffix}": (rows,)}
    if op.bias:
        shapes[f"bias_ih{suffix}"] = (rows,)
        if op.bias != "input":
            shapes[f"bias_hh{suffix}"] = (rows,)
    if op.name.startswith("lstm") and op.layer_norm:
        shapes[f"gain_c{suffix}"] = (op.hidden,)
        if op.bias:
            shapes[f"bias_c{suffix}"] = (op.hidden,)
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
