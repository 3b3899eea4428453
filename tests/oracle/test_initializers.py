"""Initializers against torch.nn.init: fans and gains exactly, distributions by two-sample tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.numerics.initializers import draw, fans, gain, generator
from netcalc.opdef import Init
from tests.numerics.kolmogorov_smirnov import p_value_of_two
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")

shapes = st.lists(st.integers(1, 5), min_size=0, max_size=5).map(tuple)


@draws
@given(shapes)
def test_fans(shape: tuple[int, ...]) -> None:
    try:
        expected = torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))
    except ValueError:
        with pytest.raises(ValueError, match="at least 2 dimensions"):
            fans(shape)
    else:
        assert fans(shape) == expected


@draws
@given(st.sampled_from(["linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]), st.floats(0, 10))
def test_gains(nonlinearity: str, slope: float) -> None:
    assert gain(nonlinearity, slope) == pytest.approx(torch.nn.init.calculate_gain(nonlinearity, slope))


@pytest.mark.parametrize("shape", [(60, 50), (20, 10, 3, 3), (12, 40, 7)])
@pytest.mark.parametrize(
    ("kind", "reference", "args"),
    [
        ("kaiming_uniform", "kaiming_uniform_", {}),
        ("kaiming_uniform", "kaiming_uniform_", {"a": 5**0.5}),
        ("kaiming_uniform", "kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
        ("kaiming_normal", "kaiming_normal_", {"nonlinearity": "tanh"}),
        ("kaiming_normal", "kaiming_normal_", {"mode": "fan_out", "nonlinearity": "selu"}),
        ("xavier_uniform", "xavier_uniform_", {"gain": 3.0}),
        ("xavier_normal", "xavier_normal_", {}),
        ("uniform", "uniform_", {"a": -1.0, "b": 0.5}),
        ("normal", "normal_", {"mean": 1.0, "std": 0.3}),
        ("truncated_normal", "trunc_normal_", {}),
        ("truncated_normal", "trunc_normal_", {"mean": 0.5, "std": 0.7, "a": -0.2, "b": 2.0}),
        ("orthogonal", "orthogonal_", {"gain": 1.5}),
    ],
)
def test_distributions(kind: str, reference: str, args: dict[str, object], shape: tuple[int, ...]) -> None:
    ours = draw(Init.of(kind, **args), shape, "float32", generator(0, kind))
    torch.manual_seed(0)
    theirs = getattr(torch.nn.init, reference)(torch.empty(shape), **args).numpy()
    assert p_value_of_two(ours, theirs) > 1e-3
    if kind.endswith("uniform"):  # the bounds are sharp
        np.testing.assert_allclose(np.abs(ours).max(), np.abs(theirs).max(), rtol=1e-2)
