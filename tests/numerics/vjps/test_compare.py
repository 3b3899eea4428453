"""Products of selection by a condition against central differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.vjps.test_arithmetic import gradients, operands
from tests.ops.backward import central_differences
from tests.ops.harness import execute


@settings(max_examples=40, deadline=None)
@given(arrays=operands(3, 3))
def test_where(arrays: list[np.ndarray]) -> None:
    central_differences("where", {}, [np.asarray(arrays[0] > 0), *arrays[1:]])


@settings(max_examples=40, deadline=None)
@given(arrays=operands(2, 2), value=st.sampled_from([0.0, -1.5]), large=st.sampled_from([-1e9, float("-inf")]))
def test_masked_fill(arrays: list[np.ndarray], value: float, large: float) -> None:
    x, mask = arrays[0], np.asarray(arrays[1] > 0)
    central_differences("masked_fill", {"value": value}, [x, mask])
    small = gradients("masked_fill", {"value": value}, x, mask)
    assert gradients("masked_fill", {"value": large}, x, mask) == small


@pytest.mark.parametrize(
    "dtypes", [("float16", "float32"), ("int32", "float16"), ("float64", "float32"), ("int32", "int32")]
)
def test_branches_of_different_types(dtypes: tuple[str, str]) -> None:
    x, other = (np.ones((2, 3)).astype(dtype) for dtype in dtypes)
    execute("where", {}, np.array([True, False, True]), x, other)
    execute("masked_fill", {"value": 0}, x, np.array([[True], [False]]))
