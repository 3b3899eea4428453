"""Look-up and replacement at positions that tensors hold, on drawn shapes and positions, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_shape import filled, shapes

torch = pytest.importorskip("torch")

axis = st.integers(-4, 3)


def drawn_indices(data: st.DataObject, shape: list[int], axes: list[int]) -> list[np.ndarray]:
    """Return an index for each axis, with positions counted from either end; most of them broadcast."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    common = data.draw(st.lists(st.integers(1, 3), max_size=2))
    indices = []
    for axis in axes:
        own = [data.draw(st.sampled_from([1, size, size, size + 1])) for size in common]
        size = shape[axis] if axis < len(shape) else 1
        indices.append(np.asarray(rng.integers(-size, size, own[data.draw(st.integers(0, len(own))) :])))
    return indices


def place(shape: list[int], axes: list[int], indices: Any) -> list[Any]:
    """Return an index, or None, for each axis, as ``torch.ops.aten.index`` takes them."""
    places: list[Any] = [None] * len(shape)
    for axis, index in zip(axes, indices, strict=True):
        places[axis] = index
    return places


@draws
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_index(shape: list[int], data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=3, unique=True))
    indices = drawn_indices(data, shape, axes)
    attrs = {"axis": [axis - data.draw(st.sampled_from([0, len(shape)])) for axis in axes]}
    agree("index", attrs, [filled(shape), *indices], lambda w, x, *i: torch.ops.aten.index(x, place(shape, axes, i)))


@draws
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), accumulate=st.booleans(), data=st.data())
def test_index_put(shape: list[int], accumulate: bool, data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=2, unique=True))
    indices = drawn_indices(data, shape, axes)
    x = filled(shape)
    try:
        wanted = torch.ops.aten.index(torch.from_numpy(x), place(shape, axes, map(torch.from_numpy, indices))).shape
    except (IndexError, RuntimeError):  # the indices do not broadcast
        wanted = [2]
    sizes = [data.draw(st.sampled_from([size, size, 1])) for size in wanted]
    values = np.asarray(filled(sizes[data.draw(st.integers(0, len(sizes))) :]) + np.float32(100))
    if not accumulate:  # positions that occur twice are not defined
        values = np.full_like(values, 7)

    def put(w: Any, x: Any, values: Any, *indices: Any) -> Any:
        return torch.ops.aten.index_put(x, place(shape, axes, indices), values, accumulate)

    agree("index_put", {"axis": axes, "accumulate": accumulate}, [x, values, *indices], put)


@draws
@given(
    shape=shapes,
    index=shapes,
    same=st.booleans(),
    reduce=st.sampled_from([None, "sum", "prod", "amax", "amin"]),
    dtype=st.sampled_from(["float32", "float64", "int64"]),
    axis=axis,
)
def test_scatter(shape: list[int], index: list[int], same: bool, reduce: str | None, dtype: str, axis: int) -> None:
    if same:
        index = (index + shape)[-len(shape) :]
    rng = np.random.default_rng(0)
    size = shape[axis] if -len(shape) <= axis < len(shape) else 1
    places = rng.integers(0, size, index)
    if reduce is None and -len(index) <= axis < len(index):  # each position at most once
        places = np.argsort(rng.random([size if a == axis % len(index) else n for a, n in enumerate(index)]), axis)
        places = np.take(places, range(min(size, index[axis])), axis)
    source = (filled(list(places.shape)) + 1).astype(dtype)

    def reference(w: Any, x: Any, i: Any, source: Any) -> Any:
        if reduce is None:
            return x.scatter(axis, i, source)
        return x.scatter_reduce(axis, i, source, reduce)

    agree("scatter", {"axis": axis, "reduce": reduce}, [filled(shape).astype(dtype), places, source], reference)


@draws
@given(shape=shapes, drop=st.integers(0, 2), data=st.data())
def test_masked_scatter(shape: list[int], drop: int, data: st.DataObject) -> None:
    masked = [data.draw(st.sampled_from([1, size])) for size in shape][drop:]
    mask = np.asarray(np.random.default_rng(data.draw(st.integers(0, 9))).random(masked) < 0.5)
    source = filled([int(np.prod(shape)) + data.draw(st.integers(0, 3))]) + 50
    agree("masked_scatter", {}, [filled(shape), mask, source], lambda w, x, m, s: x.masked_scatter(m, s))
