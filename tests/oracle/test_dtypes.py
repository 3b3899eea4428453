"""Promotion of element types against torch, for every pair."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import dtype_name, numpy_dtype
from netcalc.diagnostics import RuleError
from netcalc.dtypes import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INEXACT,
    INTEGERS,
    ITEMSIZE,
    DType,
    holds,
    promote,
    real_of,
    result_type,
)

torch = pytest.importorskip("torch")


def name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def name_or_refusal(function: Callable[..., Any], *arguments: Any) -> str | None:
    """Return the name of the type that a function gives; None if it refuses the types."""
    try:
        return name(function(*arguments))
    except (RuntimeError, RuleError):
        return None


@pytest.mark.parametrize(("a", "b"), [*product(DTYPES, DTYPES)])
def test_promote(a: DType, b: DType) -> None:
    expected = name_or_refusal(torch.promote_types, getattr(torch, a), getattr(torch, b))
    assert name_or_refusal(promote, a, b) == expected
    assert (expected is None) == (len({a, b} - FLOATS) == 2 and bool({a, b} & {"uint16", "uint32", "uint64"}))


@pytest.mark.parametrize(("a", "b"), [*product(DTYPES, DTYPES)])
def test_result_type_of_tensors(a: DType, b: DType) -> None:
    for m, n in product((0, 1), (0, 2)):
        one = torch.zeros((1,) * m, dtype=getattr(torch, a))
        other = torch.zeros((1,) * n, dtype=getattr(torch, b))
        expected = name_or_refusal(torch.result_type, one, other)
        found = name_or_refusal(result_type, [(a, m), (b, n)])
        assert found == ("complex64" if expected == "complex32" else expected)


@pytest.mark.parametrize(("dtype", "number"), [*product(DTYPES, (True, 3, 0.5))])
def test_result_type_with_a_number(dtype: DType, number: float) -> None:
    for rank in (0, 1):
        tensor = torch.zeros((1,) * rank, dtype=getattr(torch, dtype))
        assert result_type([(dtype, rank)], number) == name(torch.result_type(tensor, number))


def test_no_operands_have_no_result_type() -> None:
    with pytest.raises(ValueError, match="at least one operand"):
        result_type([])


@pytest.mark.parametrize("dtype", DTYPES)
def test_names_sizes_and_kinds(dtype: DType) -> None:
    known = getattr(torch, dtype)
    assert ITEMSIZE[dtype] == known.itemsize == numpy_dtype(dtype).itemsize
    assert (dtype in FLOATS) == known.is_floating_point
    assert (dtype in COMPLEX) == known.is_complex
    assert (dtype in INTEGERS) == (not known.is_floating_point and not known.is_complex and dtype != "bool")
    assert real_of(dtype) == name(known.to_real())
    assert dtype_name(numpy_dtype(dtype)) == dtype


def test_an_unknown_element_type() -> None:
    with pytest.raises(TypeError, match="complex256"):
        dtype_name(np.dtype("clongdouble"))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_range(dtype: DType) -> None:
    info = (torch.finfo if dtype in INEXACT else torch.iinfo)(getattr(torch, dtype))
    assert holds(dtype, info.max)
    assert holds(dtype, info.min)
    for beyond in (info.max * 2 + 1, info.min * 2 - 1):
        assert holds(dtype, beyond) == (beyond in (float("inf"), float("-inf")))
    assert holds(dtype, float("-inf")) == (dtype in INEXACT)
    assert holds(dtype, float("nan")) == (dtype in INEXACT)
