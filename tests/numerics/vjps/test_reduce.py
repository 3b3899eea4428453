"""Products of reductions and of accumulations against central differences, and at ties and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from tests.ops.backward import BackwardPass, away, central_differences

few = settings(max_examples=20, deadline=None)
orders = st.sampled_from([0, 0.5, 1, 1.5, 2, 3, -1, float("inf"), -float("inf")])


@st.composite
def reductions(draw: st.DrawFn) -> tuple[list[int], dict[str, Any]]:
    """Draw a shape, and the axes that are reduced."""
    shape = draw(st.lists(st.integers(1, 3), max_size=3))
    axes = draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0)), min_size=1).map(sorted))
    return shape, {"axis": axes, "keepdim": draw(st.booleans())}


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "logsumexp"])
@few
@given(drawn=reductions())
def test_reductions(name: str, drawn: tuple[list[int], dict[str, Any]]) -> None:
    shape, attrs = drawn
    central_differences(name, attrs, [away(*shape)])


@few
@given(drawn=reductions(), order=orders)
def test_vector_norm(drawn: tuple[list[int], dict[str, Any]], order: float) -> None:
    shape, attrs = drawn
    x = np.asarray(np.abs(away(*shape)) + 0.3)
    x += 0.01 * np.arange(x.size).reshape(shape)  # no magnitudes are equal
    central_differences("vector_norm", {**attrs, "ord": order}, [x])


@few
@given(drawn=reductions(), correction=st.sampled_from([0, 0.5, -1]))
def test_var(drawn: tuple[list[int], dict[str, Any]], correction: float) -> None:
    shape, attrs = drawn
    central_differences("var", {**attrs, "correction": correction}, [away(*shape)])


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@few
@given(shape=st.lists(st.integers(1, 4), max_size=3), axis=st.integers(-3, 2))
def test_accumulations(name: str, shape: list[int], axis: int) -> None:
    central_differences(name, {"axis": axis % max(len(shape), 1)}, [away(*shape)])


@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_with_zeros(name: str) -> None:
    """Products of one zero, of two, and of none, along an axis: they are smooth there too."""
    x = np.array([[2.0, 0.0, 3.0, 5.0], [0.0, 7.0, 0.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
    central_differences(name, {"axis": 1}, [x], tolerance=1e-5)


def gradient(name: str, attrs: dict[str, Any], x: list[float], seed: float = 1.0) -> list[float]:
    declared = ops.find(name)
    assert declared is not None
    passed = BackwardPass(declared(**attrs), [np.array(x, float)], {})
    return list(passed.product((np.full(passed.outputs[0].shape, seed),))[0])


def test_equal_extremes_share() -> None:
    """As those of torch.amax, torch.amin and torch.linalg.vector_norm."""
    assert gradient("max", {}, [1, 3, 3, 2], 6) == [0, 3, 3, 0]
    assert gradient("min", {}, [1, 3, 1, 1], 6) == [2, 0, 2, 2]
    assert gradient("vector_norm", {"ord": float("inf")}, [-3, 3, 1], 6) == [-3, 3, 0]


def test_norms_of_zeros_have_the_gradient_zero() -> None:
    for order in (0, 0.5, 1, 1.5, 2, 3, float("inf")):
        assert gradient("vector_norm", {"ord": order}, [0, 0]) == [0, 0]
    assert gradient("vector_norm", {"ord": 1}, [0, -2]) == [0, -1]


def test_types() -> None:
    central_differences("mean", {"axis": [1], "dtype": "float64"}, [away(2, 3)])
