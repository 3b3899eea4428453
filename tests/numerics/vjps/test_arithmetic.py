"""Products of arithmetic with broadcasting against central differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from tests.ops.backward import BackwardPass, away, central_differences
from tests.ops.harness import execute


@st.composite
def operands(draw: st.DrawFn, least: int, most: int) -> list[np.ndarray]:
    """Draw arrays that broadcast, no two numbers of which are within 10⁻³ of each other or of 0."""
    full = draw(st.lists(st.integers(1, 3), max_size=3))
    shapes = []
    for _ in range(draw(st.integers(least, most))):
        own = full[draw(st.integers(0, len(full))) :]
        shapes.append([draw(st.sampled_from([n, n, 1])) for n in own])
    numbers = away(sum(int(np.prod(shape)) for shape in shapes), seed=draw(st.integers(0, 9)))
    parts = np.split(numbers, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


numbers = st.sampled_from([2, -3, 0.5, 1.25, -0.75])


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["add", "mul", "minimum", "maximum"]), arrays=operands(1, 4), value=st.none() | numbers)
def test_any_number_of_operands(name: str, arrays: list[np.ndarray], value: float | None) -> None:
    if len(arrays) > 1 or value is not None:
        central_differences(name, {} if value is None else {"value": value + 0.0123}, arrays)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(["sub", "div"]), arrays=operands(1, 2), value=numbers, reverse=st.booleans())
def test_pairs(name: str, arrays: list[np.ndarray], value: float, reverse: bool) -> None:
    attrs = {"reverse": reverse} | ({"value": value} if len(arrays) == 1 else {})
    arrays = [np.where(np.abs(a) < 0.1, a + np.copysign(0.5, a), a) for a in arrays]
    central_differences(name, attrs, arrays)


@settings(max_examples=60, deadline=None)
@given(
    arrays=operands(1, 2),
    value=st.sampled_from([0, 1, 2, 3, 2.0, 3.0, 4, 0.5, -1, -2.5, 0.0]),
    reverse=st.booleans(),
)
def test_powers(arrays: list[np.ndarray], value: float, reverse: bool) -> None:
    positive = [np.asarray(np.abs(a) + 0.2) for a in arrays]
    if len(arrays) == 2:
        central_differences("pow", {"reverse": reverse}, positive)
    elif reverse:
        central_differences("pow", {"reverse": True, "value": abs(value) + (value == 0)}, arrays)
    else:
        central_differences("pow", {"value": value}, positive)


@pytest.mark.parametrize("value", [2, 3, 4, -1, 1, 0])
def test_whole_powers_of_negative_numbers(value: int) -> None:
    central_differences("pow", {"value": value}, [away(6) - 4])


def gradients(name: str, attrs: dict[str, Any], *arrays: np.ndarray) -> dict[Any, list[float]]:
    declared = ops.find(name)
    assert declared is not None
    passed = BackwardPass(declared(**attrs), arrays, {})
    found = passed.product((np.ones_like(passed.outputs[0]),))
    return {source: gradient.tolist() for source, gradient in found.items()}


def test_a_tie_is_shared() -> None:
    """As torch.maximum: half of the gradient for each; with three operands a quarter for the first two."""
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    assert gradients("maximum", {}, a, b) == {0: [0.5, 0, 1], 1: [0.5, 1, 0]}
    assert gradients("minimum", {}, a, b) == {0: [0.5, 1, 0], 1: [0.5, 0, 1]}
    assert gradients("maximum", {"value": 2}, a) == {0: [0, 0.5, 1]}
    one = np.array([1.0])
    assert gradients("maximum", {}, one, one, one) == {0: [0.25], 1: [0.25], 2: [0.5]}


def test_powers_at_zero() -> None:
    """As torch.pow: nothing for an exponent of 0, and nothing for the exponent of 0."""
    zero, two = np.array([0.0]), np.array([2.0])
    assert gradients("pow", {}, zero, zero) == {0: [0], 1: [0]}
    assert gradients("pow", {}, zero, two) == {0: [0], 1: [0]}
    assert gradients("pow", {"value": 0, "reverse": True}, two) == {0: [0]}


@pytest.mark.parametrize("rounding", ["floor", "trunc"])
def test_a_rounded_quotient_is_flat(rounding: str) -> None:
    found = gradients("div", {"rounding": rounding}, np.array([5.0, 7.0]), np.array([2.0]))
    assert found == {0: [0, 0], 1: [0]}


def saved(name: str, attrs: dict[str, Any], arrays: list[np.ndarray], wanted: set[int | str]) -> list[str]:
    declared = ops.find(name)
    assert declared is not None
    passed = BackwardPass(declared(**attrs), arrays, {})
    return [s.name for s in passed.declared.saves(passed.op, replace(passed.call, wanted=frozenset(wanted)))]


@pytest.mark.parametrize(
    ("name", "attrs", "count", "wanted", "names"),
    # as grad_fn._saved_* of PyTorch 2.13.0 has it
    [
        ("add", {}, 2, {0, 1}, []),
        ("mul", {}, 2, {0, 1}, ["self", "other"]),
        ("mul", {}, 2, {0}, ["other"]),
        ("mul", {}, 2, {1}, ["self"]),
        ("mul", {"value": 2}, 1, {0}, []),
        ("mul", {}, 3, {2}, ["self1"]),
        ("mul", {}, 3, {0}, ["other", "other1"]),
        ("div", {}, 2, {0}, ["other"]),
        ("div", {}, 2, {1}, ["self", "other"]),
        ("pow", {"value": 3}, 1, {0}, ["self"]),
        ("pow", {}, 2, {0}, ["self", "exponent", "result"]),
        ("pow", {}, 2, {0, 1}, ["self", "exponent", "result"]),
        ("pow", {"value": 3, "reverse": True}, 1, {0}, ["exponent", "result"]),
    ],
)
def test_saved(name: str, attrs: dict[str, Any], count: int, wanted: set[int | str], names: list[str]) -> None:
    assert saved(name, attrs, [np.ones((2, 3))] * count, wanted) == names


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(["add", "sub", "mul", "div", "pow", "minimum", "maximum"]),
    arrays=operands(2, 2),
    dtypes=st.tuples(*[st.sampled_from(["float16", "float32", "float64", "int32", "bool"])] * 2),
)
def test_mixed_element_types(name: str, arrays: list[np.ndarray], dtypes: tuple[str, str]) -> None:
    """Predictions hold; a tensor of integers has no gradient."""
    if name in ("sub", "pow") and "bool" in dtypes:
        return
    execute(name, {}, *(np.asarray(np.abs(a) + 1).astype(dtype) for a, dtype in zip(arrays, dtypes, strict=True)))
