"""The error function and its complement against the C library's, tabulated values and their properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.numerics.error_function import erf, erfc
from netcalc.numerics.tally import tallied, tallying

Array = np.ndarray[Any, Any]
#: A unit in the last place is at least 2⁻⁵³ of a number in float64, and the C library's own error is below one.
RELATIVE_ERROR = 1e-15
NORMAL = np.finfo("d").tiny

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
floats = st.floats(allow_nan=False)
single_floats = st.floats(allow_nan=False, width=32)


def points() -> Array:
    """Return numbers of every size, many around the edges of the approximations, of both signs."""
    rng = np.random.default_rng(0)
    edges = [edge + 1e-3 * rng.standard_normal(2000) for edge in (0.46875, 3.92, 4.0, 6.0)]
    steps = [np.nextafter(edge, [0, edge, np.inf]) for edge in (0.46875, 4.0)]
    sizes = 10.0 ** rng.uniform(-323, 1, 5000)
    x = np.concatenate([np.linspace(0, 28, 50_001), rng.uniform(0, 6, 20_000), *edges, *steps, sizes])
    return np.concatenate([x, -x])


def by_the_c_library(function: Any, x: Array) -> Array:
    return np.array([function(value) for value in x.tolist()])


def test_float64() -> None:
    x = points()
    for function, truth in ((erf, math.erf), (erfc, math.erfc)):
        expected = by_the_c_library(truth, x)
        normal = np.abs(expected) >= NORMAL
        error = np.abs(function(x) - expected)
        assert (error[normal] / np.abs(expected[normal])).max() <= RELATIVE_ERROR
        assert error[~normal].max() <= 2 * np.finfo("d").smallest_subnormal


def test_float32_to_one_unit_in_the_last_place() -> None:
    x = points().astype("f")
    for function, truth in ((erf, math.erf), (erfc, math.erfc)):
        expected = by_the_c_library(truth, x)
        result = function(x)
        assert result.dtype == np.float32
        unit = np.spacing(np.abs(expected).astype("f")).astype("d")
        assert (np.abs(result - expected) / unit).max() <= 1


@pytest.mark.parametrize(
    ("x", "value"),  # Abramowitz and Stegun, Handbook of Mathematical Functions (1964), table 7.1
    [(0.1, 0.1124629160), (0.5, 0.5204998778), (1.0, 0.8427007929), (1.5, 0.9661051465), (2.0, 0.9953222650)],
)
def test_printed_values(x: float, value: float) -> None:
    assert erf(np.array([x])) == pytest.approx(value, abs=5.1e-11)
    assert erfc(np.array([x])) == pytest.approx(1 - value, abs=5.1e-11)


@pytest.mark.parametrize(
    ("x", "complement"),
    [  # computed with forty digits by mpmath 1.4.1
        (0.25, "0.7236736098317630670149317322351843"),
        (0.75, "0.2888443663464848684010621654085892"),
        (3.0, "2.209049699858544137277612958232038e-05"),
        (5.0, "1.537459794428034850188343485383379e-12"),
        (10.0, "2.088487583762544757000786294957789e-45"),
        (26.0, "5.663192408856142846475727896926093e-296"),
    ],
)
def test_values_of_high_precision(x: float, complement: str) -> None:
    assert erfc(np.array([x])) == pytest.approx(float(complement), rel=RELATIVE_ERROR, abs=0)
    assert erf(np.array([x])) == pytest.approx(1 - float(complement), rel=RELATIVE_ERROR, abs=0)


@DTYPES
def test_special_values(dtype: str) -> None:
    tiny = float(np.finfo(dtype).smallest_subnormal)
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, 1e30, -1e30], dtype)
    np.testing.assert_array_equal(erf(x), np.array([0, -0.0, 1, -1, np.nan, tiny, -tiny, 1, -1], dtype))
    np.testing.assert_array_equal(np.signbit(erf(x[:2])), [False, True])
    np.testing.assert_array_equal(erfc(x), np.array([1, 1, 0, 2, np.nan, 1, 1, 0, 2], dtype))


@DTYPES
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (4095,), (4096,), (4097,), (3, 5, 1000)])
def test_shapes_and_layouts(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(0, 2, shape).astype(dtype)
    for function, truth in ((erf, math.erf), (erfc, math.erfc)):
        expected = by_the_c_library(truth, x.ravel()).reshape(shape)
        for view in (x, x.T, x[..., ::2] if shape else x):
            result = function(view)
            assert (result.shape, result.dtype) == (view.shape, view.dtype)
        np.testing.assert_allclose(function(x), expected, rtol=1e-6 if dtype == "float32" else RELATIVE_ERROR)
        np.testing.assert_array_equal(function(x.T), function(x).T)


def test_the_argument_is_not_changed() -> None:
    x = points()
    before = x.copy()
    erf(x), erfc(x)
    np.testing.assert_array_equal(x, before)


@DTYPES
def test_both_functions_are_monotone(dtype: str) -> None:
    """Numbers lie further apart than the errors of the functions."""
    x = np.linspace(-6, 6, 20_001).astype(dtype)
    assert (np.diff(erf(x)) >= 0).all()
    assert (np.diff(erfc(x)) <= 0).all()


@given(single_floats, single_floats)
def test_erf_is_monotone_in_float32(first: float, second: float) -> None:
    low, high = erf(np.array([min(first, second), max(first, second)], "f"))
    assert low <= high


@pytest.mark.parametrize("low", [0.01, 0.46, 1.0, 2.5, 3.5, 3.9])
def test_erf_is_monotone_between_neighbors_in_float32(low: float) -> None:
    bits = int(np.float32(low).view(np.int32))
    assert (np.diff(erf(np.arange(bits, bits + 500_000, dtype=np.int32).view(np.float32))) >= 0).all()


@given(st.lists(floats, min_size=1))
def test_properties(numbers: list[float]) -> None:
    """erf is odd and bounded by 1, and the two functions add up to 1."""
    with np.errstate(over="ignore"):
        arrays = [np.array(numbers), np.array(numbers).astype("f")]
    for x in arrays:
        step = np.finfo(x.dtype).eps
        np.testing.assert_array_equal(erf(-x), -erf(x))
        assert (np.abs(erf(x)) <= 1).all()
        assert ((erfc(x) >= 0) & (erfc(x) <= 2)).all()
        np.testing.assert_allclose(erf(x).astype("d") + erfc(x), 1, rtol=0, atol=1.5 * step)


def test_the_tally_counts_a_function_once_for_each_element() -> None:
    x = tallied(np.ones((2, 3), "f"))
    with tallying() as work:
        results = [erf(x), erfc(x[0])]
    assert work == {"transcendental": 6 + 3}
    assert all(type(result) is type(x) for result in results)
