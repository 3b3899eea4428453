"""Elementwise functions with random attributes and inputs, against torch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_arithmetic import DTYPES, tensors, tolerance

torch = pytest.importorskip("torch")

FUNCTIONS = [
    *("exp", "log", "sqrt", "rsqrt", "reciprocal", "square", "abs", "neg", "sign", "floor", "ceil", "round", "trunc"),
    *("expm1", "exp2", "log1p", "log2", "log10", "sinh", "cosh", "asinh", "acosh", "erf", "erfc", "atan"),
]
#: Functions that are drawn within their domain, and not tried at infinities, where NumPy may give a large number.
BOUNDED = ["sin", "cos", "tan", "asin", "acos", "atanh", "erfinv"]
bounds = st.none() | st.sampled_from([0, 1, -1, 2, 0.5, -2.5, 300, float("inf")])


@pytest.mark.parametrize("name", [*FUNCTIONS, *BOUNDED])
@draws
@given(arrays=tensors(1, 1))
def test_function(name: str, arrays: list[np.ndarray]) -> None:
    agree(name, {}, arrays, lambda w, x: getattr(torch, name)(x), tolerance=tolerance(arrays))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str) -> None:
    x = np.array([0.0, -0.0, 0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, -1.0, 200.0], np.float32)
    agree(name, {}, [x], lambda w, x: getattr(torch, name)(x))


@draws
@given(arrays=tensors(1, 1), low=bounds, high=bounds)
def test_clamp(arrays: list[np.ndarray], low: float | None, high: float | None) -> None:
    assume(arrays[0].dtype != np.uint8 or min(low or 0, high or 0) >= 0)  # torch wraps -1 around to 255
    agree("clamp", {"min": low, "max": high}, arrays, lambda w, x: torch.clamp(x, low, high))


@draws
@given(arrays=tensors(1, 1, low=0), dtype=st.sampled_from([*DTYPES, "int16"]))
def test_cast(arrays: list[np.ndarray], dtype: str) -> None:
    agree("cast", {"dtype": dtype}, arrays, lambda w, x: x.to(getattr(torch, dtype)))
