"""Fourier transforms: recorded results and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.arrays import numpy_dtype
from netcalc.opdef import RuleError
from tests.ops.harness import execute


def test_a_constant_has_its_sum_at_the_origin() -> None:
    (y,) = execute("fourier", {"axis": [0, 1]}, np.full((2, 3), 2.0, np.float32)).outputs
    assert y.tolist() == [[12, 0, 0], [0, 0, 0]]


def test_a_cosine_has_two_lines() -> None:
    wave = np.cos(2 * np.pi * np.arange(8) / 8)
    (y,) = execute("fourier", {"axis": 0}, wave).outputs
    np.testing.assert_allclose(y, [0, 4, 0, 0, 0, 0, 0, 4], atol=1e-12)


@pytest.mark.parametrize("axis", [[0, 0], [2]])
def test_axes_exist_and_differ(axis: list[int]) -> None:
    with pytest.raises(RuleError):
        execute("fourier", {"axis": axis}, np.ones((2, 3)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_the_type_is_that_of_the_input(dtype: str) -> None:
    execute("fourier", {"axis": [0, 1]}, np.ones((2, 3), numpy_dtype(dtype)))
