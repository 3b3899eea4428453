"""Products of pooling against central differences, and at ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from tests.ops.backward import BackwardPass, away, central_differences

few = settings(max_examples=20, deadline=None)


@st.composite
def poolings(draw: st.DrawFn) -> tuple[int, dict[str, Any], np.ndarray]:
    axes = draw(st.integers(1, 3))
    number = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    kernel = draw(number)
    attrs: dict[str, Any] = {"kernel": kernel, "stride": draw(number), "ceil_mode": draw(st.booleans())}
    sides = [[draw(st.integers(0, k // 2)), draw(st.integers(0, k // 2))] for k in kernel]
    attrs["padding"] = draw(st.sampled_from(["valid", "same_upper", "same_lower", sides]))
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(5, 6), min_size=axes, max_size=axes))
    return axes, attrs, away(*batch, 2, *sizes)


@few
@given(poolings(), st.integers(1, 2), st.booleans())
def test_max_pool(drawn: tuple[int, dict[str, Any], np.ndarray], dilation: int, indices: bool) -> None:
    axes, attrs, x = drawn
    if not isinstance(attrs["padding"], str):
        attrs["dilation"] = 1 if any(map(any, attrs["padding"])) else dilation
    central_differences(f"max_pool{axes}d", {**attrs, "return_indices": indices}, [x])


@few
@given(poolings(), st.booleans(), st.none() | st.sampled_from([-2, 3]))
def test_avg_pool(drawn: tuple[int, dict[str, Any], np.ndarray], count: bool, divisor: int | None) -> None:
    axes, attrs, x = drawn
    attrs |= {"count_include_pad": count, "divisor_override": divisor}
    central_differences(f"avg_pool{axes}d", attrs, [x])


@few
@given(poolings(), st.sampled_from([1, 2, 2.5, 4]))
def test_lp_pool(drawn: tuple[int, dict[str, Any], np.ndarray], power: float) -> None:
    axes, attrs, x = drawn
    central_differences(f"lp_pool{axes}d", {**attrs, "norm_type": power}, [np.abs(x) + 0.5])


@few
@given(st.integers(1, 3), st.sampled_from(["avg", "max"]), st.data())
def test_adaptive_pool(axes: int, kind: str, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=axes, max_size=axes))
    target = st.lists(st.integers(1, 7) | st.none(), min_size=axes, max_size=axes)
    central_differences(f"adaptive_{kind}_pool{axes}d", {"output_size": data.draw(target)}, [away(2, 2, *sizes)])


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("keepdim", [True, False])
def test_global_pool(axes: int, kind: str, keepdim: bool) -> None:
    central_differences(f"global_{kind}_pool{axes}d", {"keepdim": keepdim}, [away(2, 3, *(4, 3, 2)[:axes])])


def gradient(name: str, attrs: dict[str, Any], x: np.ndarray, seed: np.ndarray) -> np.ndarray:
    declared = ops.find(name)
    assert declared is not None
    return BackwardPass(declared(**attrs), [x], {}).product((seed,))[0]


def test_first_of_equal_elements() -> None:
    """PyTorch's max_pool1d and adaptive_max_pool1d give the gradient of a window to the first maximum."""
    x, seed = np.array([[[1.0, 1.0, 0.0, 2.0, 2.0, 2.0]]]), np.array([[[10.0, 20.0, 30.0]]])
    for name, attrs in (("max_pool1d", {"kernel": 2}), ("adaptive_max_pool1d", {"output_size": 3})):
        np.testing.assert_array_equal(gradient(name, attrs, x, seed), [[[10, 0, 0, 20, 30, 0]]])


def test_equal_elements_share() -> None:
    """PyTorch's amax gives equal maxima equal shares."""
    x = np.array([[[1.0, 3.0, 3.0, 0.0]]])
    np.testing.assert_array_equal(gradient("global_max_pool1d", {}, x, np.array([[[4.0]]])), [[[0, 2, 2, 0]]])


def test_windows_of_padding_alone() -> None:
    """The gradient of a dilated window whose elements are all padding is dropped, and reaches no other row."""
    attrs = {"kernel": [1, 2], "padding": [0, 1], "dilation": [1, 3], "stride": 2}
    found = gradient("max_pool2d", attrs, away(1, 2, 3, 2), np.ones((1, 2, 2, 1)))
    np.testing.assert_array_equal(found, np.zeros((1, 2, 3, 2)))


def test_root_of_zero() -> None:
    """PyTorch's lp_pool1d gives no gradient to a window of zeros."""
    x = np.array([[[0.0, 0.0, 3.0, 4.0]]])
    found = gradient("lp_pool1d", {"kernel": 2, "norm_type": 2}, x, np.array([[[1.0, 1.0]]]))
    np.testing.assert_allclose(found, [[[0, 0, 0.6, 0.8]]], rtol=1e-12)
