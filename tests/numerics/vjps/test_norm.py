"""Products of normalizations against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.ops.backward import BACKWARD
from netcalc.ops.batch_norm import BatchNorm
from tests.ops.backward import BackwardPass, away, central_differences

flags = st.booleans()
sizes = st.integers(1, 3)
few = settings(max_examples=20, deadline=None)


@few
@given(shape=st.lists(sizes, min_size=1, max_size=4), axes=st.integers(1, 2), affine=flags, bias=flags)
def test_trailing_axes(shape: list[int], axes: int, affine: bool, bias: bool) -> None:
    axes = min(axes, len(shape))
    central_differences("layer_norm", {"axes": axes, "affine": affine, "bias": bias, "eps": 0.3}, [away(*shape)])
    central_differences("rms_norm", {"axes": axes, "affine": affine, "offset": float(bias)}, [away(*shape)])


@few
@given(batch=sizes, groups=sizes, each=sizes, positions=st.lists(sizes, max_size=2), affine=flags, bias=flags)
def test_group_norm(batch: int, groups: int, each: int, positions: list[int], affine: bool, bias: bool) -> None:
    x = away(batch, groups * each, *positions, 2)
    central_differences("group_norm", {"groups": groups, "affine": affine, "bias": bias, "eps": 0.3}, [x])


@few
@given(
    name=st.sampled_from(["batch_norm", "instance_norm"]),
    shape=st.lists(sizes, min_size=2, max_size=4),
    training=flags,
    attrs=st.fixed_dictionaries({"affine": flags, "bias": flags, "track_running_stats": flags}),
)
def test_channels(name: str, shape: list[int], training: bool, attrs: dict[str, Any]) -> None:
    central_differences(name, {**attrs, "eps": 0.3}, [away(*shape, 2)], training=training)


@pytest.mark.parametrize("training", [False, True])
def test_frozen_batch_norm(training: bool) -> None:
    central_differences("frozen_batch_norm", {}, [away(2, 3, 4)], training=training)


def test_five_derivatives_of_batch_norm() -> None:
    """The chain of Ioffe & Szegedy's formulas, as they are printed, gives the gradient of the product."""
    rng = np.random.default_rng(0)
    x, g, gamma, eps = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=3), 1e-5
    m, mu, var = len(x), x.mean(0), x.var(0)
    normal = g * gamma
    by_var = np.sum(normal * (x - mu) * -0.5 * (var + eps) ** -1.5, 0)
    by_mean = -np.sum(normal / np.sqrt(var + eps), 0) + by_var * np.sum(-2 * (x - mu), 0) / m
    expected = normal / np.sqrt(var + eps) + by_var * 2 * (x - mu) / m + by_mean / m

    weights = {"weight": gamma, "bias": np.zeros(3)}
    passed = BackwardPass(BatchNorm(track_running_stats=False), [x], weights, training=True)
    found = passed.product((g,))
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)
    declared = BACKWARD.get("batch_norm")
    assert declared is not None
    assert [line.partition(" = ")[0] for line in declared.derivatives(BatchNorm())[:6]] == [
        f"∂L/∂{name}" for name in ("x̂", "σ²", "μ", "x", "γ", "β")
    ]


@few
@given(
    shape=st.tuples(sizes, st.integers(1, 6), sizes),
    size=st.integers(1, 5),
    beta=st.sampled_from([0.75, -0.5, 1.0]),
    alpha=st.sampled_from([0.01, 1.0]),
)
def test_local_response_norm(shape: tuple[int, ...], size: int, beta: float, alpha: float) -> None:
    attrs = {"size": size, "alpha": alpha, "beta": beta, "k": 1.5}
    central_differences("local_response_norm", attrs, [away(*shape)])


@few
@given(
    shape=st.lists(sizes, min_size=1, max_size=3),
    p=st.sampled_from([0, 0.5, 1, 1.5, 2, 3, -1, float("inf"), -float("inf")]),
    every=flags,
    eps=st.sampled_from([1e-12, 100.0]),
)
def test_normalize(shape: list[int], p: float, every: bool, eps: float) -> None:
    """Small magnitudes are all different, so that no extreme is tied."""
    x = np.abs(away(*shape)) + 0.3
    x += 0.01 * np.arange(x.size).reshape(x.shape)
    x[..., 0] *= -1
    central_differences("normalize", {"p": p, "axis": [] if every else [0], "eps": eps}, [x])
