"""Gradients through time: the factor by which a step of a recurrent layer multiplies them, from its weights.

Sums of gates are taken to be normal, and independent of the states that they multiply, as in mean-field theory of wide
layers (Chen, Pennington and Schoenholz 2018, arXiv:1806.05394; for gates Gilboa et al. 2019, arXiv:1901.08987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from netcalc.analysis.signal.quadrature import Curve1, expectation

_ITERATIONS = 20


class Gate(NamedTuple):
    """Weights of one gate.

    ``input`` is the number of features times the mean square of their weights, ``state`` the same of the state;
    ``bias`` is the mean of the biases and ``spread`` their variance; of the state's biases alone, ``square`` is the
    mean square.
    """

    input: float
    state: float
    bias: float
    spread: float
    square: float


class Step(NamedTuple):
    """The factor of the norm of gradients for each step back, and the mean square of the states."""

    factor: float
    square: float


class _Moments(NamedTuple):
    """E[y], E[y²] and E[y′²] of a function of the sum of a gate."""

    mean: float
    square: float
    slope: float


def factor_by_step(op: str, nonlinearity: str, layers: Sequence[Sequence[Sequence[Gate]]], square: float) -> float:
    """Return the factor of the norm of gradients for each step back, for inputs of a mean ``square``.

    A path back through time may go on in any layer of a stack, so that the largest factor of a layer is the factor of
    all, up to a power of the distance.  In two directions the way from the last step back is the forward one.

    Args:
        op, nonlinearity: the operation, and the function of an rnn.
        layers: the gates of each direction of each layer, the forward direction first.
        square: mean square of the input.
    """
    factors = []
    for directions in layers:
        steps = [step_of(op, nonlinearity, gates, square) for gates in directions]
        factors.append(steps[0].factor)
        square = sum(step.square for step in steps) / len(steps)
    return max(factors)


def step_of(op: str, nonlinearity: str, gates: Sequence[Gate], square: float) -> Step:
    """Return the step of one layer in one direction, for inputs of a mean ``square``."""
    if op == "rnn":
        return _elman(gates[0], square, nonlinearity)
    return _memory(gates, square) if op == "lstm" else _gated(gates, square)


def _elman(gate: Gate, square: float, nonlinearity: str) -> Step:
    """Return √(h·E[w²]·E[φ′²]): the spectral radius of the weights of the state times the slope."""
    if nonlinearity == "relu":
        entered = gate.input * square + gate.spread + gate.bias**2
        return Step(math.sqrt(gate.state / 2), entered / (2 - gate.state) if gate.state < 2 else math.inf)
    states = 0.0
    for _ in range(_ITERATIONS):
        states = _tanh(gate, square, states).square
    return Step(math.sqrt(gate.state * _tanh(gate, square, states).slope), states)


def _memory(gates: Sequence[Gate], square: float) -> Step:
    """Return the factor of an lstm: its forget gate, and the way through h beside it.

    The same weights act at every step: (f + R)ⁿ grows as f plus the spectral radius of R, not as the root of squares.
    """
    entry, forget, candidate, output = gates
    states = cells = 0.0
    for _ in range(_ITERATIONS):
        i, f, o = (_sigmoid(gate, square, states) for gate in (entry, forget, output))
        g = _tanh(candidate, square, states)
        cells = min(i.square * g.square + f.square * cells, 1e6)
        top = _moments(math.tanh, _tanh_slope, 0.0, cells)
        states = o.square * top.square
    by_cell = math.sqrt(
        entry.state * i.slope * g.square + forget.state * f.slope * cells + candidate.state * i.square * g.slope
    )
    by_output = math.sqrt(output.state * o.slope * top.square)
    into = math.sqrt(o.square * top.slope)  # the gradient of the cell by that of h
    return Step(_largest(by_cell * into + by_output, by_cell, f.mean * into, f.mean), states)


def _gated(gates: Sequence[Gate], square: float) -> Step:
    """Return the factor of a gru: its update gate, and the way through n beside it."""
    reset, update, new = gates
    states = 0.0
    for _ in range(_ITERATIONS):
        r, z = (_sigmoid(gate, square, states) for gate in (reset, update))
        inner = new.state * states + new.square
        n = _tanh(new._replace(state=0.0, spread=new.spread + r.square * inner), square, 0.0)
        kept = 1 - 2 * z.mean + z.square
        states = min(kept * n.square + z.square * states, 1.0)
    through = kept * n.slope * (new.state * r.square + reset.state * r.slope * inner)
    factor = z.mean + math.sqrt(update.state * z.slope * (n.square + states) + through)
    return Step(factor, states)


def _largest(a: float, b: float, c: float, d: float) -> float:
    """Return the largest eigenvalue of a matrix of two rows without negative elements."""
    half = (a + d) / 2
    return half + math.sqrt(max(half * half - a * d + b * c, 0.0))


def _moments(value: Curve1, slope: Curve1, mean: float, variance: float) -> _Moments:
    return _Moments(
        expectation(value, mean, variance),
        expectation(lambda x: value(x) ** 2, mean, variance),
        expectation(lambda x: slope(x) ** 2, mean, variance),
    )


def _tanh_slope(x: float) -> float:
    return 1 - math.tanh(x) ** 2


def _logistic(x: float) -> float:
    return (1 + math.tanh(x / 2)) / 2


def _tanh(gate: Gate, square: float, states: float) -> _Moments:
    return _moments(math.tanh, _tanh_slope, gate.bias, _variance(gate, square, states))


def _sigmoid(gate: Gate, square: float, states: float) -> _Moments:
    def slope(x: float) -> float:
        return _logistic(x) * (1 - _logistic(x))

    return _moments(_logistic, slope, gate.bias, _variance(gate, square, states))


def _variance(gate: Gate, square: float, states: float) -> float:
    return gate.input * square + gate.state * states + gate.spread
