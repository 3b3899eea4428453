"""Mean-field theory of activation functions against published figures and samples of the kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from netcalc.analysis.signal.curves import CURVES, Curve, curve_of
from netcalc.analysis.signal.mean_field import MeanField, activation_moments, edge_of_chaos
from netcalc.analysis.signal.quadrature import expectation, shared_expectation
from netcalc.numerics.kernels import Run, apply
from netcalc.ops import OPERATIONS

#: Operations with attributes that are not their defaults, besides those with the defaults.
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "leaky_relu": {"negative_slope": 0.2},
    "elu": {"alpha": 0.7},
    "celu": {"alpha": 1.7},
    "gelu": {"approximate": "tanh"},
    "hardtanh": {"min": -0.5, "max": 2.0},
    "hardshrink": {"lambd": 0.8},
    "softshrink": {"lambd": 0.8},
    "threshold": {"threshold": 0.3, "value": -1.0},
    "softplus": {"beta": 2.0, "threshold": 3.0},
}


def operation(name: str, **attributes: Any) -> Any:
    found = OPERATIONS.get(name)
    assert found is not None
    return found(**attributes)


def curve(name: str, **attributes: Any) -> Curve:
    found = curve_of(operation(name, **attributes))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "square"),
    [("relu", 0.5), ("tanh", 0.394294), ("gelu", 0.425221), ("silu", 0.355776), ("sigmoid", 0.293379), ("selu", 1.0)],
)
def test_second_moments_are_the_published_ones(name: str, square: float) -> None:
    assert activation_moments(curve(name)).square == pytest.approx(square, abs=6e-7)


@pytest.mark.parametrize(
    ("name", "gain", "sampled"),
    [
        ("relu", 1.71286, 1.71396),
        ("gelu", 1.70093, 1.70150),
        ("silu", 1.78719, 1.78813),
        ("tanh", 1.59254, 1.59391),
        ("sigmoid", 4.80131, 4.80384),
    ],
)
def test_gains_of_normalizer_free_networks(name: str, gain: float, sampled: float) -> None:
    """The reciprocal deviations; timm's figures in ``nfnet.py`` were sampled, and differ by a thousandth."""
    moments = activation_moments(curve(name))
    found = 1 / math.sqrt(moments.square - moments.mean**2)
    assert found == pytest.approx(gain, abs=6e-6)
    assert found == pytest.approx(sampled, rel=1e-3)


def test_selu_keeps_mean_0_and_variance_1() -> None:
    moments = activation_moments(curve("selu"))
    assert (moments.mean, moments.square) == (pytest.approx(0.0, abs=1e-12), pytest.approx(1.0))


def test_the_slope_of_the_logistic_function_is_at_most_a_quarter() -> None:
    slope = curve("sigmoid").slope
    assert slope(0.0) == 0.25
    assert max(slope(x / 100) for x in range(-500, 501)) == 0.25


def test_the_edge_of_chaos_of_tanh() -> None:
    critical = edge_of_chaos(curve("tanh"), 0.05)
    assert critical.weight_variance == pytest.approx(1.760955, abs=6e-7)
    assert critical.fixed_point == pytest.approx(0.570048, abs=6e-7)
    edge = MeanField(curve("tanh"), critical.weight_variance, 0.05)
    assert edge.fixed_point() == pytest.approx(0.570048, abs=6e-7)
    assert edge.chi(critical.fixed_point) == pytest.approx(1.0)


@pytest.mark.parametrize(("variance", "chi"), [(1.3, 0.8802), (2.5, 1.1335), (4.0, 1.3424)])
def test_chi_of_tanh_at_its_fixed_point(variance: float, chi: float) -> None:
    field = MeanField(curve("tanh"), variance, 0.05)
    assert field.chi(field.fixed_point()) == pytest.approx(chi, abs=6e-5)


def test_chi_is_the_slope_of_the_map_of_correlations_at_one() -> None:
    for name, variance, bias in (("tanh", 1.3, 0.05), ("sigmoid", 4.0, 0.1), ("relu", 2.0, 0.0)):
        field = MeanField(curve(name), variance, bias)
        q = field.fixed_point()
        assert field.correlation(1.0, q) == pytest.approx(1.0)
        assert field.correlation_slope(1.0, q) == pytest.approx(field.chi(q))
        step = 1e-4
        quotient = (field.correlation(0.5 + step, q) - field.correlation(0.5 - step, q)) / (2 * step)
        assert field.correlation_slope(0.5, q) == pytest.approx(quotient, rel=1e-6)


def test_the_ordered_phase_correlates_and_the_chaotic_phase_separates() -> None:
    limits = {}
    for variance in (1.3, 4.0):
        field = MeanField(curve("tanh"), variance, 0.05)
        q, c = field.fixed_point(), 0.5
        for _ in range(200):
            c = field.correlation(c, q)
        limits[variance] = c
    assert limits[1.3] == pytest.approx(1.0, abs=1e-6)
    assert limits[4.0] < 0.5


def test_the_rectifier_keeps_the_variance_with_weights_of_variance_2() -> None:
    field = MeanField(curve("relu"), 2.0)
    assert field.length(3.7) == pytest.approx(3.7)
    assert field.chi(3.7) == pytest.approx(1.0)
    # closed form of the arc-cosine kernel (Cho & Saul 2009)
    angle = math.acos(0.3)
    expected = (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / math.pi
    assert field.correlation(0.3, 1.0) == pytest.approx(expected, rel=1e-9)


def test_a_rectifier_with_large_weights_has_no_fixed_point_and_small_ones_vanish() -> None:
    assert MeanField(curve("relu"), 3.0).fixed_point() == math.inf
    assert MeanField(curve("relu"), 1.0).fixed_point() == 0.0
    with pytest.raises(ValueError, match="relu has no edge of chaos"):
        edge_of_chaos(curve("relu"), 0.05)


@pytest.mark.parametrize("given", [False, True], ids=["defaults", "attributes"])
@pytest.mark.parametrize("name", CURVES)
def test_curves_are_those_of_the_kernels(name: str, given: bool) -> None:
    op = operation(name, **(ATTRIBUTES.get(name, {}) if given else {}))
    found = curve_of(op)
    assert found is not None
    x = np.linspace(-8, 8, 333) + 1e-3
    params = {"weight": np.array([op.init])} if name == "prelu" else {}
    (expected,) = apply(op, Run(), (x,), params)
    assert [found.value(v) for v in x.tolist()] == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-12)
    step = 1e-6
    for v in x.tolist():
        if min(abs(v - kink) for kink in found.kinks) > 1e-3:
            quotient = (found.value(v + step) - found.value(v - step)) / (2 * step)
            assert found.slope(v) == pytest.approx(quotient, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", CURVES)
def test_functions_with_limits_saturate_where_the_slope_is_a_tenth(name: str) -> None:
    found = curve(name)
    if found.active is None:
        return
    greatest = max(found.slope(x / 50 + 1e-4) for x in range(-300, 300))
    for limit, inside in zip(found.active, (1, -1), strict=True):
        assert found.slope(limit + inside * 1e-6) > 0.0999 * greatest
        assert found.slope(limit - inside * 1e-6) < 0.1001 * greatest


def test_moments_are_those_of_a_sample() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(0.4, math.sqrt(1.7), 400_000)
    for name in ("tanh", "gelu", "relu"):
        (y,) = apply(operation(name), Run(), (z,), {})
        moments = activation_moments(curve(name), 1.7, 0.4)
        assert moments.mean == pytest.approx(float(y.mean()), abs=0.01)
        assert moments.square == pytest.approx(float((y * y).mean()), rel=0.01)


def test_shared_expectations_are_those_of_a_sample() -> None:
    rng = np.random.default_rng(0)
    common, first, second = rng.standard_normal((3, 400_000))
    z1, z2 = (0.3 + math.sqrt(0.6) * common + math.sqrt(0.9) * rest for rest in (first, second))
    sampled = float((np.tanh(z1) * np.tanh(z2)).mean())
    assert shared_expectation(math.tanh, 0.3, 1.5, 0.6, (0.0,)) == pytest.approx(sampled, abs=0.005)


def test_steep_functions_are_resolved() -> None:
    """A step is the limit of tanh with a large scale: E[sign(z)²] is 1."""
    assert expectation(lambda x: math.tanh(x) ** 2, 0.0, 1e8) == pytest.approx(1.0, abs=2e-4)
    assert expectation(lambda x: float(x > 0), 0.0, 1e-8) == pytest.approx(0.5)
