"""Ways to learn through time, against runs in NumPy that carry derivatives forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.through_time import Learning, ways_to_learn
from netcalc.ir import OpNode

FEATURES, HIDDEN, STEPS = 3, 4, 7
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
Array = Any


def network(kind: str, **attributes: Any) -> netcalc.Network:
    listed = ", ".join(f"{name}: {value}" for name, value in {"hidden": HIDDEN, **attributes}.items())
    text = f"""
netcalc: 1
name: layer
inputs: {{x: [{STEPS}, 1, {FEATURES}]}}
layers:
  - {{name: layer, {kind}: {{{listed}}}, as: [states]}}
"""
    return netcalc.loads(text)


def ways(kind: str, window: int = 3, **attributes: Any) -> dict[str, Learning]:
    (node,) = network(kind, **attributes).program.main.nodes
    assert isinstance(node, OpNode)
    return {way.name: way for way in ways_to_learn(node, window)}


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def step(kind: str, parameters: Array, state: Array, x: Array) -> Array:
    """Return the state after a step, h and for an LSTM c, with the parameters as torch orders them."""
    gates = GATES[kind]
    rows = gates * HIDDEN
    ends = np.cumsum([rows * FEATURES, rows * HIDDEN, rows])
    w, u, b, c = np.split(parameters, ends)
    h = state[:HIDDEN]
    left = np.split(w.reshape(rows, FEATURES) @ x + b, gates)
    right = np.split(u.reshape(rows, HIDDEN) @ h + c, gates)
    if kind == "rnn":
        return np.tanh(left[0] + right[0])
    if kind == "gru":
        r, z = sigmoid(left[0] + right[0]), sigmoid(left[1] + right[1])
        n = np.tanh(left[2] + r * right[2])
        return (1 - z) * n + z * h
    i, f, g, o = (a + b for a, b in zip(left, right, strict=True))
    cell = sigmoid(f) * state[HIDDEN:] + sigmoid(i) * np.tanh(g)
    return np.concatenate([sigmoid(o) * np.tanh(cell), cell])


def jacobian(function: Any, at: Array) -> Array:
    """Return the derivatives of a function by steps into the complex plane."""
    columns = [function(at + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(at))]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("kind", GATES)
def test_real_time_learning_carries_these_derivatives_by_this_work(kind: str) -> None:
    random = np.random.default_rng(0)
    count = GATES[kind] * HIDDEN * (FEATURES + HIDDEN + 2)
    parameters = random.normal(0, 0.5, count)
    inputs, weights = random.normal(size=(STEPS, FEATURES)), random.normal(size=(STEPS, HIDDEN))
    size = HIDDEN * (2 if kind == "lstm" else 1)

    def loss(values: Array) -> Array:
        state, total = np.zeros(size, values.dtype), 0.0
        for x, weight in zip(inputs, weights, strict=True):
            state = step(kind, values, state, x)
            total = total + weight @ state[:HIDDEN]
        return np.array([total])

    state, carried = np.zeros(size), np.zeros((size, count))
    gradient, products = np.zeros(count), 0
    for x, weight in zip(inputs, weights, strict=True):
        by_state = jacobian(lambda s, x=x: step(kind, parameters, s, x), state)
        by_parameters = jacobian(lambda p, x=x, s=state: step(kind, p, s, x), parameters)
        carried = by_state @ carried + by_parameters
        gradient += weight @ carried[:HIDDEN]
        products += by_state.size * carried.shape[1] + weight.size * carried.shape[1]
        state = step(kind, parameters, state, x)
    np.testing.assert_allclose(gradient, jacobian(loss, parameters)[0], rtol=1e-9)
    way = ways(kind)["real-time"]
    assert way.elements == carried.size
    assert way.work == products


@pytest.mark.parametrize("kind", GATES)
def test_full_backpropagation_is_that_of_the_backward_pass(kind: str) -> None:
    net, way = network(kind), ways(kind)["full"]
    explained = net.explain("layer", backward=True)
    kept = next(section for section in explained.sections if section.title == "saved")
    parameters = sum("a parameter" in line.formula for line in kept.steps)
    saved = sum(line.value for line in kept.steps if "a parameter" not in line.formula)
    assert parameters and way.bytes == saved
    assert way.work <= net.analysis(backward=True).total.macs_backward


@pytest.mark.parametrize("window", [1, 3, 7, 100])
def test_truncated_backpropagation_keeps_a_window(window: int) -> None:
    full, truncated = ways("gru")["full"], ways("gru", window)["truncated"]
    steps = min(window, STEPS)
    assert truncated.elements * STEPS == full.elements * steps
    assert (truncated.work == full.work) == (window >= STEPS)
    assert truncated.work <= full.work


def test_both_directions_cannot_be_learned_in_real_time() -> None:
    assert list(ways("lstm", bidirectional="true")) == ["full", "truncated"]


def test_real_time_memory_does_not_depend_on_the_length() -> None:
    kept = str(ways("lstm")["real-time"].kept)
    assert "T" not in kept and "n**3" in kept and "T" in str(ways("lstm")["full"].kept)
