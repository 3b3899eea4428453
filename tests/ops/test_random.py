"""Random numbers: their distributions, and what they depend on."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import ops
from netcalc.diagnostics import NetcalcError, RuleError
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.numerics.kolmogorov_smirnov import p_value
from tests.ops.harness import execute

SPEC = """
netcalc: 1
inputs: {x: {shape: [2, 8], range: [0, 1]}}
blocks:
  noisy: {layers: [{name: noise, normal: [2, 8]}, {from: [in, noise], add: {}}]}
layers:
  - {name: first, normal: [2, 8]}
  - {name: second, normal: [2, 8]}
  - {name: own, normal: {shape: [2, 8], seed: 3}}
  - {name: zeros, constant: {value: 0.0, shape: [2, 8]}}
  - {name: once, from: zeros, noisy: {}}
  - {name: twice, from: zeros, repeat: 2, noisy: {}}
  - {name: relu, from: first, relu: {}}
  - {name: chosen, from: x, bernoulli: {}}
outputs: [first, second, own, once, twice, relu, chosen]
"""

#: A loss that is a random number, whatever the input and the parameters are.
LOSS = """
netcalc: 1
inputs: {x: [4, 8]}
layers:
  - linear: 1
  - mul: 0
  - {name: product, mean: [0]}
  - {name: noise, normal: [1]}
  - {from: [product, noise], add: {}}
  - {name: number, mean: [0]}
outputs: [number]
"""


def network() -> netcalc.Network:
    return netcalc.loads(SPEC)


def outputs(**options: Any) -> dict[str, np.ndarray]:
    return dict(network().run(**options).outputs)


def test_a_run_depends_on_its_seed_alone() -> None:
    one, same, other = outputs(seed=1), outputs(seed=1), outputs(seed=2)
    for name in one:
        np.testing.assert_array_equal(one[name], same[name])
        assert (name == "own") == bool(np.array_equal(one[name], other[name])), name


def test_each_line_draws_its_own_numbers() -> None:
    found = outputs(seed=1)
    assert not np.array_equal(found["first"], found["second"])
    assert not np.allclose(found["twice"], 2 * found["once"])
    # the sum of two draws that are equal would be twice a normal number, with a variance of 4
    many = [outputs(seed=seed)["twice"] for seed in range(64)]
    assert abs(np.var(many) - 2) < 5 * 2 * (2 / np.size(many)) ** 0.5


def test_plans_draw_as_the_reference_path_does() -> None:
    planned, reference, session = outputs(seed=7), outputs(seed=7, plan="reference"), network().compile(seed=7)
    for _ in range(2):
        for name, array in session().items():
            np.testing.assert_array_equal(array, planned[name])
            np.testing.assert_array_equal(array, reference[name])


def test_worker_processes_draw_as_threads_do() -> None:
    one, two = outputs(seed=7, processes=True, threads=2), outputs(seed=7, threads=1)
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_steps_of_training_draw_anew() -> None:
    losses = netcalc.loads(LOSS).train(4, loss="number", lr=0.0, seed=1).losses
    assert len(set(losses)) == 4
    assert losses == netcalc.loads(LOSS).train(4, loss="number", lr=0.0, seed=1).losses
    assert losses != netcalc.loads(LOSS).train(4, loss="number", lr=0.0, seed=2).losses


def test_all_predictions_hold() -> None:
    report = network().verify(values=True, backward=True)
    assert report.ok, [check for check in report.checks if not check.ok]


@pytest.mark.parametrize(
    ("name", "attrs", "distribution"),
    [
        ("normal", {}, lambda x: (1 + math.erf(x / 2**0.5)) / 2),
        ("normal", {"mean": 1.0, "std": 2.0}, lambda x: (1 + math.erf((x - 1) / 8**0.5)) / 2),
        ("uniform", {}, lambda x: min(max(x, 0.0), 1.0)),
        ("uniform", {"low": -2.0, "high": 3.0}, lambda x: min(max((x + 2) / 5, 0.0), 1.0)),
        ("exponential", {}, lambda x: 1 - math.exp(-x)),
        ("exponential", {"rate": 4.0}, lambda x: 1 - math.exp(-4 * x)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(name: str, attrs: dict[str, Any], distribution: Any, dtype: str) -> None:
    (drawn,) = execute(name, {"shape": [50, 100], "dtype": dtype, "seed": 0, **attrs}).outputs
    assert p_value(drawn, distribution) > 1e-3
    # numbers of odd and of even positions are as independent as the numbers of two tensors
    assert abs(np.corrcoef(drawn.ravel()[::2], drawn.ravel()[1::2])[0, 1]) < 5 / 2500**0.5


def test_integers() -> None:
    (drawn,) = execute("randint", {"low": -1, "high": 3, "shape": [4000], "seed": 0}).outputs
    counts = Counter(drawn.tolist())
    assert set(counts) == {-1, 0, 1, 2}
    assert all(abs(count - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5 for count in counts.values())
    (order,) = execute("randperm", {"n": 50, "dtype": "int32", "seed": 0}).outputs
    assert sorted(order.tolist()) == list(range(50)) != order.tolist()


def test_bernoulli_and_poisson() -> None:
    p = np.repeat(np.array([[0.0], [0.25], [1.0]], np.float32), 4000, axis=1)
    (drawn,) = execute("bernoulli", {"seed": 0}, p).outputs
    assert set(np.unique(drawn)) == {0, 1}
    assert not drawn[0].any()
    assert drawn[2].all()
    assert abs(drawn[1].mean() - 0.25) < 5 * (0.25 * 0.75 / 4000) ** 0.5
    (counts,) = execute("poisson", {"seed": 0}, 4 * p).outputs
    assert not counts[0].any()
    assert abs(counts[2].mean() - 4) < 5 * (4 / 4000) ** 0.5
    assert abs(counts[2].var() - 4) < 5 * 4 * (2 / 4000) ** 0.5 * 1.2


def test_gamma_and_binomial() -> None:
    """Gamma numbers of the shape 1 are exponential ones, those of ½ half the squares of normal ones."""
    shapes = np.repeat(np.array([[1.0], [0.5]], np.float32), 4000, axis=1)
    (drawn,) = execute("gamma", {"seed": 0}, shapes).outputs
    assert p_value(drawn[0], lambda x: 1 - math.exp(-x)) > 1e-3
    assert p_value(drawn[1], lambda x: math.erf(x**0.5)) > 1e-3
    (tiny,) = execute("gamma", {"seed": 0}, np.full(9, 1e-6, np.float32)).outputs
    assert (tiny > 0).all()
    count = np.repeat(np.array([[0.0], [1.0], [6.9], [5.0]], np.float32), 4000, axis=1)
    prob = np.repeat(np.array([[0.5], [0.25], [0.5], [1.0]], np.float32), 4000, axis=1)
    (successes,) = execute("binomial", {"seed": 0}, count, prob).outputs
    assert not successes[0].any() and (successes[3] == 5).all()
    assert abs(successes[1].mean() - 0.25) < 5 * (0.25 * 0.75 / 4000) ** 0.5
    for number in range(7):  # of six tosses
        p = math.comb(6, number) / 64
        assert abs((successes[2] == number).sum() - 4000 * p) < 5 * (4000 * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("count,prob", [(-1.0, 0.5), (math.nan, 0.5), (2.0, 1.5), (2.0, math.nan), (math.inf, 0.5)])
def test_trials_that_are_refused(count: float, prob: float) -> None:
    with pytest.raises(RuleError) as refused:
        execute("binomial", {}, np.array([count]), np.array([prob]))
    assert refused.value.code == "E602"


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial(replacement: bool) -> None:
    weights = np.tile(np.array([1, 0, 3, 4], np.float32), (4000, 1))
    (drawn,) = execute("multinomial", {"samples": 2, "replacement": replacement, "seed": 0}, weights).outputs
    p = {0: 1 / 8, 2: 3 / 8, 3: 4 / 8}
    pairs = Counter(map(tuple, drawn.tolist()))
    for i in p:
        for j in p:
            # the second of two different indices has the probability p(j) of those that are left
            expected = p[i] * p[j] if replacement else p[i] * p[j] / (1 - p[i]) * (i != j)
            assert abs(pairs[i, j] - 4000 * expected) <= 5 * (4000 * expected * (1 - expected)) ** 0.5
    assert not any(1 in pair for pair in pairs)


@pytest.mark.parametrize(
    ("name", "attrs", "x"),
    [
        ("bernoulli", {}, [0.5, 1.5]),
        ("bernoulli", {}, [math.nan]),
        ("poisson", {}, [-1.0]),
        ("gamma", {}, [1.0, 0.0]),
        ("gamma", {}, [math.nan]),
        ("multinomial", {}, [0.0, 0.0]),
        ("multinomial", {}, [1.0, -1.0]),
        ("multinomial", {}, [1.0, math.inf]),
        ("multinomial", {"samples": 2}, [1.0, 0.0]),
    ],
)
def test_values_that_are_refused(name: str, attrs: dict[str, Any], x: list[float]) -> None:
    shape = f"[{len(x)}]"
    text = (
        f"netcalc: 1\ninputs: {{x: {shape}}}\nlayers: [{name}: {{{', '.join(f'{k}: {v}' for k, v in attrs.items())}}}]"
    )
    for plan in ("reference", "fast"):
        with pytest.raises(NetcalcError) as refused:
            netcalc.loads(text).run({"x": np.array(x, np.float32)}, plan=plan)
        assert {found.code for found in refused.value.diagnostics} == {"E602"}


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("normal", {"shape": [2], "dtype": "int64"}, None),
        ("uniform", {"shape": [2], "low": 1.0, "high": 0.0}, None),
        ("normal", {"shape": [2], "std": -1.0}, None),
        ("exponential", {"shape": [2], "rate": 0.0}, None),
        ("randint", {"high": 0}, None),
        ("randint", {"high": 3, "dtype": "bool"}, None),
        ("randint", {"high": 3, "low": -(1 << 70)}, None),
        ("randint", {"high": 300, "dtype": "uint8"}, None),
        ("multinomial", {"samples": 4}, (2, 3)),
        ("multinomial", {"samples": 1}, (2, 3, 4)),
    ],
)
def test_attributes_that_are_refused(name: str, attrs: dict[str, Any], shape: tuple[int, ...] | None) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises((RuleError, ValidationError)):
        declared(**attrs).infer(Context(), *([] if shape is None else [TensorType(shape)]))


def test_moments_of_random_numbers_are_propagated() -> None:
    """The variance of a linear layer is E[x²]/3, and 1/(3·32) of its bias, with torch's initialization."""
    text = """
netcalc: 1
inputs: {x: [64, 32]}
layers:
  - {name: a, normal: {shape: [64, 32], mean: 1.0, std: 2.0}}
  - {name: u, uniform: {shape: [64, 32], low: -1.0, high: 3.0}}
  - {name: e, exponential: {shape: [64, 32], rate: 0.5}}
  - {from: [x, a, u, e], add: {}}
  - {name: fc, linear: 16}
"""
    (layer,) = netcalc.loads(text).signal(seeds=1).layers
    # the mean is 0 + 1 + 1 + 2, the variance 1 + 2² + 4²/12 + 1/0.5²
    assert layer.predicted.variance == pytest.approx((4**2 + 1 + 4 + 16 / 12 + 4) / 3 + 1 / 96)
