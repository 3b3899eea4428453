"""Reductions, sorting and cumulative sums with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_arithmetic import tensors, tolerance

torch = pytest.importorskip("torch")

one = st.integers(-3, 2)
axes = st.none() | one | st.lists(one, min_size=1, max_size=3)
types = st.none() | st.sampled_from(["float32", "float64", "int64", "int32"])


def every(x: Any, axis: Any) -> Any:
    """Return the axes for torch functions that do not accept None."""
    return tuple(range(x.dim())) if axis is None else axis


@pytest.mark.parametrize("name", ["sum", "mean"])
@draws
@given(arrays=tensors(1, 1), axis=axes, keepdim=st.booleans(), dtype=types)
def test_totals(name: str, arrays: list[np.ndarray], axis: Any, keepdim: bool, dtype: str | None) -> None:
    attrs = {"axis": axis, "keepdim": keepdim, "dtype": dtype}
    kind = dtype and getattr(torch, dtype)
    agree(
        name,
        attrs,
        arrays,
        lambda w, x: getattr(torch, name)(x, dim=axis, keepdim=keepdim, dtype=kind),
        tolerance=tolerance(arrays),
    )


@draws
@given(arrays=tensors(1, 1), axis=st.none() | one, keepdim=st.booleans(), dtype=types)
def test_prod(arrays: list[np.ndarray], axis: int | None, keepdim: bool, dtype: str | None) -> None:
    kind = dtype and getattr(torch, dtype)
    keepdim = keepdim and axis is not None  # torch.prod over all axes keeps none

    def reference(w: Any, x: Any) -> Any:
        return torch.prod(x, dtype=kind) if axis is None else torch.prod(x, axis, keepdim, dtype=kind)

    attrs = {"axis": axis, "keepdim": keepdim, "dtype": dtype}
    agree("prod", attrs, arrays, reference, tolerance=tolerance(arrays))


@pytest.mark.parametrize(("name", "function"), [("max", torch.amax), ("min", torch.amin)])
@draws
@given(arrays=tensors(1, 1), axis=axes, keepdim=st.booleans())
def test_extremes(name: str, function: Any, arrays: list[np.ndarray], axis: Any, keepdim: bool) -> None:
    attrs = {"axis": axis, "keepdim": keepdim}
    agree(name, attrs, arrays, lambda w, x: function(x, every(x, axis), keepdim))


@pytest.mark.filterwarnings("ignore:var:UserWarning")  # torch warns if the result is inf or NaN
@draws
@given(arrays=tensors(1, 1), axis=axes, keepdim=st.booleans(), correction=st.sampled_from([0, 1, 2, 0.5]))
def test_var(arrays: list[np.ndarray], axis: Any, keepdim: bool, correction: float) -> None:
    attrs = {"axis": axis, "keepdim": keepdim, "correction": correction}
    agree(
        "var",
        attrs,
        arrays,
        lambda w, x: torch.var(x, dim=axis, correction=correction, keepdim=keepdim),
        tolerance=tolerance(arrays),
    )


@draws
@given(
    arrays=tensors(1, 1),
    axis=axes,
    keepdim=st.booleans(),
    order=st.sampled_from([2, 1, 0, 3, 0.5, -1, float("inf"), float("-inf")]),
)
def test_vector_norm(arrays: list[np.ndarray], axis: Any, keepdim: bool, order: float) -> None:
    attrs = {"axis": axis, "keepdim": keepdim, "ord": order}
    agree(
        "vector_norm",
        attrs,
        arrays,
        lambda w, x: torch.linalg.vector_norm(x, order, axis, keepdim),
        tolerance=tolerance(arrays),
    )


@draws
@given(arrays=tensors(1, 1), axis=axes, keepdim=st.booleans(), extreme=st.sampled_from([None, "inf", "-inf", "nan"]))
def test_logsumexp(arrays: list[np.ndarray], axis: Any, keepdim: bool, extreme: str | None) -> None:
    if extreme and arrays[0].dtype.kind == "f":
        arrays[0].flat[: max(1, arrays[0].size // 2)] = float(extreme)
    attrs = {"axis": axis, "keepdim": keepdim}
    agree(
        "logsumexp",
        attrs,
        arrays,
        lambda w, x: torch.logsumexp(x, every(x, axis), keepdim),
        tolerance=tolerance(arrays),
    )


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@draws
@given(arrays=tensors(1, 1), axis=one, dtype=types)
def test_cumulative(name: str, arrays: list[np.ndarray], axis: int, dtype: str | None) -> None:
    kind = dtype and getattr(torch, dtype)
    agree(
        name,
        {"axis": axis, "dtype": dtype},
        arrays,
        lambda w, x: getattr(torch, name)(x, axis, dtype=kind),
        tolerance=tolerance(arrays),
    )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@draws
@given(arrays=tensors(1, 1), axis=st.none() | one, keepdim=st.booleans())
def test_arg(name: str, arrays: list[np.ndarray], axis: int | None, keepdim: bool) -> None:
    """Draw integers from −3 to 4, so that the maximum often occurs more than once."""
    attrs = {"axis": axis, "keepdim": keepdim}
    agree(name, attrs, arrays, lambda w, x: getattr(torch, name)(x, axis, keepdim))


@draws
@given(
    shape=st.lists(st.integers(1, 6), max_size=3),
    k=st.integers(1, 5),
    axis=one,
    largest=st.booleans(),
    dtype=st.sampled_from(["float32", "float16", "int64", "bool"]),
    seed=st.integers(0, 99),
)
def test_topk(shape: list[int], k: int, axis: int, largest: bool, dtype: str, seed: int) -> None:
    """Inputs with distinct elements, since torch defines no order among equal ones."""
    x = np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape).astype(dtype)
    attrs = {"k": k, "axis": axis, "largest": largest}
    agree("topk", attrs, [x], lambda w, x: torch.topk(x, k, axis, largest))


@draws
@given(arrays=tensors(1, 1), axis=one, descending=st.booleans(), nan=st.booleans())
def test_sort(arrays: list[np.ndarray], axis: int, descending: bool, nan: bool) -> None:
    if nan and arrays[0].dtype.kind == "f":
        arrays[0].flat[0] = np.nan
    attrs = {"axis": axis, "descending": descending, "stable": True}
    agree("sort", attrs, arrays, lambda w, x: torch.sort(x, dim=axis, descending=descending, stable=True))


@draws
@given(arrays=tensors(1, 1), axis=one, name=st.sampled_from(["cummax", "cummin"]), nan=st.booleans())
def test_extremes_so_far(arrays: list[np.ndarray], axis: int, name: str, nan: bool) -> None:
    if nan and arrays[0].dtype.kind == "f":
        arrays[0].flat[arrays[0].size // 2] = np.nan
    agree(name, {"axis": axis}, arrays, lambda w, x: getattr(torch, name)(x, axis))


@pytest.mark.filterwarnings("ignore:var:UserWarning")
@draws
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    axis=st.integers(-1, 0),
    order=st.sampled_from([0, 0.5, 1, 1.5, 2, 3, -1, float("inf"), -float("inf")]),
    seed=st.integers(0, 99),
)
def test_gradients_at_zeros_and_ties(shape: list[int], axis: int, order: float, seed: int) -> None:
    x = np.random.default_rng(seed).choice([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], shape)
    norm = torch.linalg.vector_norm
    agree("max", {"axis": axis}, [x], lambda w, x: x.amax(axis))
    agree("min", {"axis": axis}, [x], lambda w, x: x.amin(axis))
    agree("prod", {"axis": axis}, [x], lambda w, x: x.prod(axis))
    agree("cumprod", {"axis": axis}, [x], lambda w, x: x.cumprod(axis))
    agree("cumsum", {"axis": axis}, [x], lambda w, x: x.cumsum(axis))
    agree("vector_norm", {"axis": axis, "ord": order}, [x], lambda w, x: norm(x, order, axis))
    agree("normalize", {"axis": axis, "p": order}, [x], lambda w, x: torch.nn.functional.normalize(x, order, axis))
