"""Joining, splitting, selecting and padding with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.ops.harness import execute
from tests.oracle.harness import agree, draws
from tests.oracle.test_shape import filled, shapes

torch = pytest.importorskip("torch")

axis = st.integers(-4, 3)
DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"]


@draws
@given(
    shape=shapes,
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    dtypes=st.lists(st.sampled_from(DTYPES), min_size=3, max_size=3),
    axis=axis,
    other=axis,
)
def test_concat(shape: list[int], sizes: list[int], dtypes: list[str], axis: int, other: int) -> None:
    arrays = []
    for size, dtype in zip(sizes, dtypes, strict=False):
        mine = list(shape)
        if -len(shape) <= other < len(shape):  # the other axis fits only sometimes
            mine[other] = size
        arrays.append((filled(mine) * 4).astype(dtype))
    agree("concat", {"axis": axis}, list(arrays), lambda w, *tensors: torch.cat(tensors, axis))


@draws
@given(shape=shapes, last=st.integers(1, 4), count=st.integers(1, 3), axis=st.integers(-5, 4))
def test_stack(shape: list[int], last: int, count: int, axis: int) -> None:
    arrays = [filled(shape) + i for i in range(count)]
    arrays.append(filled([*shape[:-1], last]))
    agree("stack", {"axis": axis}, list(arrays), lambda w, *tensors: torch.stack(tensors, axis))


def compare_pieces(name: str, attrs: dict[str, Any], x: np.ndarray, function: Any) -> None:
    """Compare the pieces and their number with torch's."""
    counts: list[int] = []

    def reference(w: Any, x: Any) -> Any:
        pieces = function(x)
        counts.append(len(pieces))
        return pieces

    agree(name, attrs, [x], reference)
    if counts:
        assert len(execute(name, attrs, x).outputs) == counts[0]


@draws
@given(shape=st.lists(st.integers(1, 7), min_size=1, max_size=3), axis=axis, data=st.data())
def test_split(shape: list[int], axis: int, data: st.DataObject) -> None:
    sizes = data.draw(st.integers(1, 8) | st.lists(st.integers(1, 4), min_size=1, max_size=3))
    compare_pieces("split", {"sizes": sizes, "axis": axis}, filled(shape), lambda x: torch.split(x, sizes, axis))


@draws
@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=3), chunks=st.integers(1, 6), axis=axis)
def test_chunk(shape: list[int], chunks: int, axis: int) -> None:
    compare_pieces("chunk", {"chunks": chunks, "axis": axis}, filled(shape), lambda x: torch.chunk(x, chunks, axis))


@draws
@given(shape=st.lists(st.integers(1, 8), min_size=1, max_size=3), data=st.data())
def test_slice(shape: list[int], data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), min_size=1, max_size=3, unique=True))
    place = st.integers(-9, 9)
    ranges = [slice(data.draw(place), data.draw(st.none() | place), data.draw(st.integers(1, 3))) for _ in axes]
    index: list[slice] = [slice(None)] * len(shape)
    for axis, part in zip(axes, ranges, strict=True):
        index[axis] = part
        assume(range(shape[axis])[part])  # torch returns empty tensors, which netcalc does not allow
    attrs = {
        "axis": [axis - data.draw(st.sampled_from([0, len(shape)])) for axis in axes],
        "start": [part.start for part in ranges],
        "stop": [part.stop for part in ranges],
        "step": [part.step for part in ranges],
    }
    agree("slice", attrs, [filled(shape)], lambda w, x: x[tuple(index)])


@draws
@given(shape=shapes, axis=axis, index=st.integers(-5, 4))
def test_select(shape: list[int], axis: int, index: int) -> None:
    agree("select", {"axis": axis, "index": index}, [filled(shape)], lambda w, x: torch.select(x, axis, index))


@draws
@given(shape=shapes, index=shapes, same=st.booleans(), dtype=st.sampled_from(["int64", "int32", "int16"]), axis=axis)
def test_gather(shape: list[int], index: list[int], same: bool, dtype: str, axis: int) -> None:
    if same:
        index = (index + shape)[-len(shape) :]
    size = shape[axis] if -len(shape) <= axis < len(shape) else 1
    places = np.random.default_rng(0).integers(0, size, index).astype(dtype)
    agree("gather", {"axis": axis}, [filled(shape), places], lambda w, x, i: torch.gather(x, axis, i))


@draws
@given(
    shape=shapes, index=st.lists(st.integers(1, 4), max_size=2), dtype=st.sampled_from(["int64", "int32"]), axis=axis
)
def test_index_select(shape: list[int], index: list[int], dtype: str, axis: int) -> None:
    size = shape[axis] if -len(shape) <= axis < len(shape) else 1
    places = np.asarray(np.random.default_rng(0).integers(0, size, index), dtype)
    agree("index_select", {"axis": axis}, [filled(shape), places], lambda w, x, i: torch.index_select(x, axis, i))


@draws
@given(shape=shapes, axis=axis, indices=st.lists(st.integers(-4, 3), min_size=1, max_size=4))
def test_index_select_by_a_list(shape: list[int], axis: int, indices: list[int]) -> None:
    def reference(w: Any, x: Any) -> Any:
        return x.movedim(axis, 0)[indices].movedim(0, axis)

    agree("index_select", {"axis": axis, "indices": indices}, [filled(shape)], reference)


@draws
@given(shape=shapes, data=st.data())
def test_roll(shape: list[int], data: st.DataObject) -> None:
    axes = data.draw(st.none() | st.lists(axis, min_size=1, max_size=3))
    shifts = data.draw(st.lists(st.integers(-5, 5), min_size=1, max_size=3))
    if axes is not None and data.draw(st.booleans()):
        shifts = (shifts * 3)[: len(axes)]
    agree("roll", {"shifts": shifts, "axis": axes}, [filled(shape)], lambda w, x: torch.roll(x, shifts, axes or ()))


@draws
@given(shape=shapes, axes=st.lists(axis, min_size=1, max_size=3))
def test_flip(shape: list[int], axes: list[int]) -> None:
    agree("flip", {"axis": axes}, [filled(shape)], lambda w, x: torch.flip(x, axes))


def flat(pairs: list[list[int]]) -> list[int]:
    """Padding in the order of torch: the last axis first."""
    return [side for pair in reversed(pairs) for side in pair]


@draws
@given(shape=shapes, data=st.data(), value=st.sampled_from([0.0, 1.5, -np.inf]))
def test_pad_with_a_constant(shape: list[int], data: st.DataObject, value: float) -> None:
    side = st.integers(-3, 3)
    padding = data.draw(st.lists(st.lists(side, min_size=2, max_size=2), min_size=1, max_size=len(shape) + 1))
    rest = [size + sum(pair) for size, pair in zip(reversed(shape), reversed(padding), strict=False)]
    assume(0 not in rest)  # torch returns empty tensors
    attrs = {"padding": padding, "value": value}
    agree("pad", attrs, [filled(shape)], lambda w, x: torch.nn.functional.pad(x, flat(padding), value=value))


@draws
@given(mode=st.sampled_from(["reflect", "replicate", "circular"]), axes=st.integers(1, 3), data=st.data())
def test_pad_from_the_tensor(mode: str, axes: int, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=axes, max_size=axes))
    side = st.integers(-2, 5)
    padding = [[data.draw(side), data.draw(side)] for _ in sizes]
    for size, (before, after) in zip(sizes, padding, strict=True):
        assume(size + before + after > 0)
        if mode == "circular":  # torch reads elements not yet written if a crop leaves too few to wrap around
            assume(max(before, after) > size or max(before, after) <= size + min(before, 0) + min(after, 0))
    x = filled([2, 2, *sizes])
    attrs = {"padding": padding, "mode": mode}
    agree("pad", attrs, [x], lambda w, x: torch.nn.functional.pad(x, flat(padding), mode=mode))
