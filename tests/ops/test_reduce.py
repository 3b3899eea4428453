"""Reductions and sorting: work, errors, and symbolic sizes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import ceil_log2, symbol
from netcalc.models import ValidationError
from tests.ops.harness import execute
from tests.ops.prediction import predict

OVER_AXES = ["mean", "sum", "max", "min", "prod", "var", "vector_norm", "logsumexp"]
ALONG_ONE = ["argmax", "argmin", "cumsum", "sort"]


@pytest.mark.parametrize(
    ("name", "attrs", "work"),
    # 2 rows of 8
    [
        ("sum", {"axis": 1}, {"add": 14}),
        ("sum", {}, {"add": 15}),
        ("prod", {"axis": 0}, {"mul": 8}),
        ("mean", {"axis": 1}, {"add": 14, "div": 2}),
        ("max", {"axis": 1}, {"compare": 14}),
        ("argmax", {}, {"compare": 15}),
        ("vector_norm", {"axis": 1}, {"mul": 16, "add": 14, "transcendental": 2}),
        ("cumsum", {"axis": 0}, {"add": 8}),
        # a tournament among 8: 7 matches for the winner, 2 more for the second
        ("topk", {"k": 1}, {"compare": 14}),
        ("topk", {"k": 2}, {"compare": 18}),
        ("sort", {}, {"compare": 2 * 7 * 3}),
    ],
)
def test_work(name: str, attrs: dict[str, Any], work: dict[str, int]) -> None:
    assert predict(name, attrs, (2, 8)).work == work


@pytest.mark.parametrize("name", OVER_AXES)
@settings(max_examples=25, deadline=None)
@given(shape=st.lists(st.integers(1, 4), max_size=4), data=st.data(), keepdim=st.booleans())
def test_the_work_over_several_axes_is_counted(name: str, shape: list[int], data: st.DataObject, keepdim: bool) -> None:
    axes = st.lists(st.integers(0, max(len(shape) - 1, 0)), min_size=1, unique=True)
    axis = data.draw(st.none() | axes)
    order = {"ord": data.draw(st.sampled_from([2.0, 1.0, 0.0, 3.0, np.inf]))} if name == "vector_norm" else {}
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    execute(name, {"axis": axis, "keepdim": keepdim, **order}, x)


@pytest.mark.parametrize("name", ALONG_ONE)
@settings(max_examples=25, deadline=None)
@given(shape=st.lists(st.integers(1, 9), max_size=3), data=st.data())
def test_the_work_along_one_axis_is_counted(name: str, shape: list[int], data: st.DataObject) -> None:
    rank = max(len(shape), 1)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    execute(name, {"axis": data.draw(st.integers(-rank, rank - 1))}, x)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 40), data=st.data(), largest=st.booleans())
def test_the_work_of_topk_is_counted(n: int, data: st.DataObject, largest: bool) -> None:
    x = np.random.default_rng(n).normal(size=(3, n)).astype(np.float32)
    execute("topk", {"k": data.draw(st.integers(1, n)), "largest": largest}, x)


@pytest.mark.parametrize("name", [*OVER_AXES, *ALONG_ONE, "topk"])
def test_symbolic_sizes_agree_with_integers(name: str) -> None:
    attrs = {"k": 3} if name == "topk" else {"axis": 1}
    rows, n = symbol("rows", default=2), symbol("n", default=8)
    found = predict(name, attrs, (rows, n)).at(rows=5, n=100)
    numbers = predict(name, attrs, (5, 100))
    assert (found.shapes, found.work) == (numbers.shapes, numbers.work)


def test_a_symbolic_logarithm() -> None:
    n = symbol("n")
    assert str(ceil_log2(n)) == "ceil_log2(n)"
    assert [ceil_log2(n).at({"n": size}) for size in (1, 2, 3, 4, 5, 1024, 1025)] == [0, 1, 2, 2, 3, 10, 11]
    assert (ceil_log2(n) + 1) > 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["sum", "mean", "cumsum"])
def test_half_precision_accumulates_in_float32(name: str, dtype: Any) -> None:
    """The sum of a thousand ones would stop at 256 in bfloat16, where 256 + 1 rounds to 256."""
    (y,) = execute(name, {"axis": 0}, np.ones(1000, dtype)).outputs
    assert y.dtype == dtype
    assert float(y.ravel()[-1]) == {"sum": 1000, "cumsum": 1000, "mean": 1}[name]


def test_equal_elements_are_sorted_by_index() -> None:
    x = np.float32([2, 3, 1, 3, 2])
    for name, attrs, indices in [
        ("topk", {"k": 3}, [1, 3, 0]),
        ("topk", {"k": 3, "largest": False}, [2, 0, 4]),
        ("sort", {}, [2, 0, 4, 1, 3]),
        ("sort", {"descending": True}, [1, 3, 0, 4, 2]),
    ]:
        values, found = execute(name, attrs, x).outputs
        assert found.tolist() == indices
        np.testing.assert_array_equal(values, x[indices])


@pytest.mark.parametrize(
    ("name", "attrs", "dtype", "message"),
    [
        ("sum", {"axis": 2}, "float32", "no axis 2 in a tensor of 2 dimensions"),
        ("max", {"axis": [0, -2]}, "float32", "listed twice"),
        ("mean", {}, "int64", "mean needs a floating-point type, and this is int64"),
        ("mean", {"dtype": "int32"}, "float32", "mean needs a floating-point type"),
        ("var", {}, "int64", "takes floating-point numbers"),
        ("vector_norm", {}, "bool", "takes floating-point numbers"),
        ("argmax", {}, "bool", "its input is bool"),
        ("argmin", {"axis": -3}, "float32", "no axis -3"),
        ("cumsum", {"axis": 2}, "float32", "no axis 2"),
        ("topk", {"k": 4}, "float32", "k is 4, and axis 1 has 3 elements"),
        ("topk", {"k": 1}, "bool", "its input is bool"),
        ("sort", {"axis": 5}, "float32", "no axis 5"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], dtype: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        execute(name, attrs, np.ones((2, 3), dtype))


@pytest.mark.parametrize("axis", [[], [True], "1", 1.0, [0.0]])
def test_invalid_axes(axis: Any) -> None:
    declared = ops.find("sum")
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(axis=axis)
