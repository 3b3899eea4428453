"""Products of functions of each element against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from tests.numerics.vjps.test_arithmetic import gradients, operands
from tests.ops.backward import away, central_differences
from tests.ops.harness import execute

#: Functions of each element, and the interval that their arguments are drawn from.
DOMAINS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("exp", "expm1", "exp2", "sin", "cos", "sinh", "cosh", "asinh", "atan", "erf", "erfc"), (-3, 3)),
    **dict.fromkeys(("square", "abs", "neg", "sign", "floor", "ceil", "round", "trunc"), (-3, 3)),
    **dict.fromkeys(("log", "sqrt", "rsqrt", "log2", "log10"), (0.2, 5)),
    "reciprocal": (0.3, 4),
    "log1p": (-0.8, 4),
    "tan": (-1.3, 1.3),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.9, 0.9)),
    "acosh": (1.1, 5),
}
FAMILIES = ("elementwise", "transcendental", "rounding")
APART = {"clamp", "cast", "atan2", "remainder", "fmod"}


def drawn(low: float, high: float, dtype: str = "float64") -> np.ndarray:
    """Return numbers inside an interval, none of them a whole number or a half."""
    return np.asarray(
        np.random.default_rng(0).permutation(np.linspace(low, high, 24)[1:-1] + 0.0021).reshape(2, 11), dtype
    )


def test_every_function_is_listed() -> None:
    assert DOMAINS.keys() | APART == {name for family in FAMILIES for name in ops.FAMILIES[family]}


@pytest.mark.parametrize(("name", "domain"), DOMAINS.items())
def test_functions(name: str, domain: tuple[float, float]) -> None:
    central_differences(name, {}, [drawn(*domain)])


@pytest.mark.parametrize(("name", "domain"), DOMAINS.items())
@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_other_element_types(name: str, domain: tuple[float, float], dtype: str) -> None:
    """Predictions hold; integers have no gradient."""
    execute(name, {}, drawn(*domain, dtype))


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "trunc"])
def test_flat_functions_have_a_gradient_of_zero(name: str) -> None:
    assert gradients(name, {}, np.array([-1.5, 0.0, 2.0])) == {0: [0, 0, 0]}


@pytest.mark.parametrize("bounds", [(-1.0, 1.5), (None, 1), (0, None), (2.0, -1.0)])
def test_clamp(bounds: tuple[Any, Any]) -> None:
    low, high = bounds
    central_differences("clamp", {"min": low, "max": high}, [away(4, 5, kinks=[b for b in bounds if b is not None])])


def test_bounds_of_clamp_belong_to_the_interval() -> None:
    """As in torch, the gradient passes at a bound, and not for NaN."""
    x = np.array([-1.0, 0.0, 1.0, 2.0, np.nan])
    assert gradients("clamp", {"min": 0, "max": 1}, x) == {0: [0, 1, 1, 0, 0]}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32", "bool"])
def test_cast(dtype: str) -> None:
    execute("cast", {"dtype": dtype}, drawn(-3, 3, "float32"))
    if dtype in ("float32", "float64"):
        assert gradients("cast", {"dtype": dtype}, np.array([1.5, -2.0])) == {0: [1, 1]}


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["remainder", "fmod", "atan2"]),
    arrays=operands(1, 2),
    value=st.sampled_from([3.0123, -2.0123]),
    reverse=st.booleans(),
)
def test_pairs(name: str, arrays: list[np.ndarray], value: float, reverse: bool) -> None:
    operands = [*arrays, np.array(value)] if len(arrays) == 1 else arrays
    left, right = operands[::-1] if reverse else operands
    with np.errstate(all="ignore"):
        quotient = left / right
    # far from whole quotients, and from the end of the angles, where the functions jump
    if name == "atan2" or ((np.abs(quotient - np.rint(quotient)) > 1e-2).all() and (np.abs(right) > 0.1).all()):
        attrs = {"reverse": reverse} | ({"value": value} if len(arrays) == 1 else {})
        central_differences(name, attrs, arrays, tolerance=1e-5)
