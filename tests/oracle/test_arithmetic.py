"""Binary operations with random inputs against torch: shapes, element types and values."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64"]
numbers = st.sampled_from([0, 1, 2, 3, -1, -2, 5, 0.5, -0.5, 1.5, 2.0, 3.0])


@st.composite
def tensors(draw: st.DrawFn, least: int, most: int, *, dtypes: list[str] = DTYPES, low: int = -3) -> list[np.ndarray]:
    """Draw tensors that broadcast in nearly all cases."""
    full = draw(st.lists(st.integers(1, 3), max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    found = []
    for _ in range(draw(st.integers(least, most))):
        shape = [draw(st.sampled_from([n, n, n, 1, 2])) for n in full[draw(st.integers(0, len(full))) :]]
        found.append(values(rng, shape, draw(st.sampled_from(dtypes)), low))
    return found


def values(rng: np.random.Generator, shape: list[int], dtype: str, low: int = -3) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.5 if shape else np.asarray(rng.random() < 0.5)
    whole = rng.integers(0 if dtype == "uint8" else low, 5, shape)
    return np.asarray(whole + (0.25 if dtype.startswith("float") else 0)).astype(dtype)


def tolerance(arrays: list[np.ndarray]) -> float:
    return 2e-3 if any(a.dtype == np.float16 for a in arrays) else 2e-5


def fold(function: Callable[..., Any], value: float | None) -> Callable[..., Any]:
    """Fold ``function`` over the tensors from the left, and apply the number last."""

    def reference(weights: Any, *xs: Any) -> Any:
        operands = [*xs, *([] if value is None else [value])]
        if len(operands) < 2:
            raise ValueError("one operand")
        return reduce(function, operands)

    return reference


def as_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes numbers, which some functions of torch do not."""

    def reference(a: Any, b: Any) -> Any:
        return function(*(x if torch.is_tensor(x) else torch.tensor(x, dtype=torch.result_type(a, b)) for x in (a, b)))

    return reference


def signed(arrays: list[np.ndarray]) -> bool:
    """Return True if all types have a sign: torch's gradients negate operands, and wrap around or refuse others."""
    return all(array.dtype.kind in "if" for array in arrays)


VARIADIC = {
    "add": torch.add,
    "mul": torch.mul,
    "minimum": as_tensors(torch.minimum),
    "maximum": as_tensors(torch.maximum),
}


@pytest.mark.parametrize("name", VARIADIC)
@draws
@given(arrays=tensors(1, 3, dtypes=["bool", "int32", "int64", "float32", "float64"]), value=st.none() | numbers)
def test_variadic(name: str, arrays: list[np.ndarray], value: float | None) -> None:
    agree(name, {} if value is None else {"value": value}, arrays, fold(VARIADIC[name], value))


@pytest.mark.parametrize("name", VARIADIC)
@draws
@given(arrays=tensors(2, 2))
def test_promotion_of_pairs(name: str, arrays: list[np.ndarray]) -> None:
    agree(name, {}, arrays, fold(VARIADIC[name], None), tolerance=tolerance(arrays))


def pair(function: Callable[..., Any], value: float | None, reverse: bool = False) -> Callable[..., Any]:
    def reference(weights: Any, x: Any, other: Any = None) -> Any:
        if (other is None) == (value is None):
            raise ValueError("one operand, or three")
        second = value if other is None else other
        return function(second, x) if reverse else function(x, second)

    return reference


@draws
@given(arrays=tensors(1, 2), value=st.none() | numbers, reverse=st.booleans())
def test_sub(arrays: list[np.ndarray], value: float | None, reverse: bool) -> None:
    attrs = {"value": value, "reverse": reverse}
    agree("sub", attrs, arrays, pair(lambda a, b: a - b, value, reverse), tolerance=tolerance(arrays))


@draws
@given(
    arrays=tensors(1, 2, low=1),
    value=st.none() | numbers.filter(bool),
    reverse=st.booleans(),
    rounding=st.sampled_from([None, "floor", "trunc"]),
)
def test_div(arrays: list[np.ndarray], value: float | None, reverse: bool, rounding: str | None) -> None:
    if rounding and any(a.dtype in (np.uint8, np.float16) for a in arrays):
        arrays = [a.astype(np.int32) for a in arrays]
    # torch raises if an integer is divided by zero, which no rule can know
    arrays = [a if a.dtype.kind == "f" else np.asarray(np.maximum(a, a.dtype.type(1))) for a in arrays]

    def divided(a: Any, b: Any) -> Any:
        if rounding is None:
            return a / b
        a, b = (x if torch.is_tensor(x) else torch.tensor(x, dtype=torch.result_type(a, b)) for x in (a, b))
        return torch.div(a, b, rounding_mode=rounding)

    attrs = {"value": value, "reverse": reverse, "rounding": rounding}
    agree("div", attrs, arrays, pair(divided, value, reverse), tolerance=tolerance(arrays))


@draws
@given(arrays=tensors(1, 2), value=st.none() | numbers, reverse=st.booleans())
def test_pow(arrays: list[np.ndarray], value: float | None, reverse: bool) -> None:
    attrs = {"value": value, "reverse": reverse}
    reference, gradients = pair(torch.pow, value, reverse), signed(arrays)
    agree("pow", attrs, arrays, reference, tolerance=tolerance(arrays), gradients=gradients)


@pytest.mark.parametrize("name", ["remainder", "fmod"])
@draws
@given(arrays=tensors(1, 2), value=st.none() | numbers.filter(bool), reverse=st.booleans())
def test_remainders(name: str, arrays: list[np.ndarray], value: float | None, reverse: bool) -> None:
    # torch raises if an integer is divided by zero, which no rule can know
    arrays = [a if a.dtype.kind == "f" else np.where(a == 0, a.dtype.type(1), a) for a in arrays]
    assume(value is None or value >= 0 or arrays[0].dtype != np.uint8)  # torch wraps -1 around to 255
    reference = pair(as_tensors(getattr(torch, name)), value, reverse)
    agree(name, {"value": value, "reverse": reverse}, arrays, reference, tolerance=tolerance(arrays))


@draws
@given(arrays=tensors(1, 2), value=st.none() | numbers, reverse=st.booleans())
def test_angle(arrays: list[np.ndarray], value: float | None, reverse: bool) -> None:
    assume(value is None or value >= 0 or arrays[0].dtype != np.uint8)  # torch wraps -1 around to 255
    reference = pair(as_tensors(torch.atan2), value, reverse)
    attrs, gradients = {"value": value, "reverse": reverse}, signed(arrays)
    agree("atan2", attrs, arrays, reference, tolerance=tolerance(arrays), gradients=gradients)


@pytest.mark.parametrize("name", ["remainder", "fmod", "atan2"])
def test_pairs_of_special_values(name: str) -> None:
    x = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan], np.float32)
    agree(name, {}, [x[:, None], x], lambda w, a, b: getattr(torch, name)(a, b))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@draws
@given(arrays=tensors(1, 2), value=st.none() | st.sampled_from([0, 1, 5, -2]))
def test_bits(name: str, arrays: list[np.ndarray], value: int | None) -> None:
    assume(value is None or value >= 0 or arrays[0].dtype != np.uint8)  # torch refuses -2
    agree(name, {} if value is None else {"value": value}, arrays, fold(getattr(torch, name), value))


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
@draws
@given(arrays=tensors(1, 2), value=st.none() | st.sampled_from([0, 1, 5, 7]), reverse=st.booleans())
def test_shifts(name: str, arrays: list[np.ndarray], value: int | None, reverse: bool) -> None:
    attrs = {"value": value, "reverse": reverse}
    agree(name, attrs, arrays, pair(getattr(torch, name), value, reverse))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts_by_all_widths(name: str, dtype: str) -> None:
    x = np.array([-128, -5, -1, 0, 1, 77, 127]).astype(dtype)
    counts = np.array([-1, 0, 1, 6, 7, 8, 15, 16, 31, 32, 63, 64, 65]).astype(dtype)
    agree(name, {}, [x[:, None], counts], lambda w, a, b: getattr(torch, name)(a, b))


@pytest.mark.parametrize(
    ("given", "dtype"), [("float32", "int32"), ("int64", "float64"), ("float16", "uint16"), ("bool", "uint8")]
)
def test_bitcast(given: str, dtype: str) -> None:
    x = np.array([[0, 1, -3], [77, 5, -1]]).astype(given)
    agree("bitcast", {"dtype": dtype}, [x], lambda w, a: a.view(getattr(torch, dtype)))


@draws
@given(arrays=tensors(1, 1))
def test_bitwise_not(arrays: list[np.ndarray]) -> None:
    agree("bitwise_not", {}, arrays, lambda w, x: torch.bitwise_not(x))


COMPARISONS = {
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
}


@pytest.mark.parametrize("name", COMPARISONS)
@draws
@given(arrays=tensors(1, 2), value=st.none() | numbers | st.booleans())
def test_comparison(name: str, arrays: list[np.ndarray], value: float | None) -> None:
    agree(name, {"value": value}, arrays, pair(COMPARISONS[name], value))


@pytest.mark.parametrize("name", ["logical_and", "logical_or"])
@draws
@given(arrays=tensors(1, 3))
def test_logic(name: str, arrays: list[np.ndarray]) -> None:
    agree(name, {}, arrays, fold(getattr(torch, name), None))


@draws
@given(arrays=tensors(1, 1))
def test_logical_not(arrays: list[np.ndarray]) -> None:
    agree("logical_not", {}, arrays, lambda w, x: torch.logical_not(x))


@draws
@given(arrays=tensors(2, 2), mask=tensors(1, 1, dtypes=["bool", "bool", "bool", "int64"]))
def test_where(arrays: list[np.ndarray], mask: list[np.ndarray]) -> None:
    agree("where", {}, mask + arrays, lambda w, *xs: torch.where(*xs))


@draws
@given(
    arrays=tensors(1, 1),
    mask=tensors(1, 1, dtypes=["bool", "bool", "bool", "uint8"]),
    value=numbers | st.booleans() | st.sampled_from([float("-inf"), -1e9, 70_000, 300, -200]),
)
def test_masked_fill(arrays: list[np.ndarray], mask: list[np.ndarray], value: float) -> None:
    assume(arrays[0].dtype != np.uint8 or value >= 0)  # torch wraps -1 around to 255
    agree("masked_fill", {"value": value}, arrays + mask, lambda w, x, m: torch.masked_fill(x, m, value))
