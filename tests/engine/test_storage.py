"""Views of stores equal NumPy's views of the same bytes, and stores in use together do not overlap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.arena import ALIGNMENT, aligned, arrange
from netcalc.engine.storage import Slot, Store, dense, is_dense


def _consecutive(shape: tuple[int, ...]) -> Slot:
    """Return a contiguous slot of consecutive numbers."""
    numbers = np.arange(math.prod(shape), dtype=np.int32)
    store = Store(numbers.nbytes, memory=numbers.view(np.uint8))
    return Slot(store, shape, dense(shape, 4), np.dtype(np.int32))


shapes = st.lists(st.sampled_from([1, 1, 2, 3, 4, 6]), min_size=1, max_size=5).map(tuple)


@st.composite
def views(draw: Any) -> tuple[Slot, np.ndarray]:
    """Draw a slot after some view operations, and a NumPy array after the same operations."""
    slot = _consecutive(draw(shapes))
    array = slot.array()
    for _ in range(draw(st.integers(0, 3))):
        step = draw(st.sampled_from(["permute", "part", "insert", "drop"]))
        rank = len(slot.shape)
        if step == "permute":
            axes = draw(st.permutations(range(rank)))
            slot, array = slot.permuted(axes), array.transpose(axes)
        elif step == "part" and rank:
            axis = draw(st.integers(0, rank - 1))
            size = slot.shape[axis]
            start, by = draw(st.integers(0, size - 1)), draw(st.integers(1, 2))
            count = draw(st.integers(1, (size - 1 - start) // by + 1))
            index = (slice(None),) * axis + (slice(start, start + (count - 1) * by + 1, by),)
            slot, array = slot.part(axis, start, count, by), array[index]
        elif step == "insert":
            axis = draw(st.integers(0, rank))
            slot, array = slot.inserted(axis), np.expand_dims(array, axis)
        elif step == "drop" and rank > 1:
            axis = draw(st.integers(0, rank - 1))
            slot, array = slot.without(axis), array.take(0, axis)
    return slot, array


@given(views())
def test_view_operations_equal_numpys(pair: tuple[Slot, np.ndarray]) -> None:
    slot, array = pair
    np.testing.assert_array_equal(slot.array(), array)


@given(views(), st.data())
def test_reshaping_is_a_view_if_numpy_needs_no_copy(pair: tuple[Slot, np.ndarray], data: st.DataObject) -> None:
    slot, _ = pair
    sizes = [size for size in slot.shape if size > 1]
    sizes_after: list[int] = []
    while sizes:  # axes merged and split, axes of size 1 inserted
        taken = data.draw(st.integers(1, len(sizes)))
        product = math.prod(sizes[:taken])
        del sizes[:taken]
        factor = data.draw(st.sampled_from([d for d in range(1, product + 1) if product % d == 0]))
        sizes_after += [factor, product // factor]
    shape = tuple(sizes_after)
    array = slot.array()
    view = slot.reshaped(shape)
    if view is not None:
        np.testing.assert_array_equal(view.array(), array.reshape(shape))
    else:
        assert not np.shares_memory(array.reshape(shape), array)


@given(shapes, st.data())
def test_broadcasting(shape: tuple[int, ...], data: st.DataObject) -> None:
    slot = _consecutive(shape)
    sizes_after = tuple(
        data.draw(st.integers(2, 3)) if size == 1 and data.draw(st.booleans()) else size for size in shape
    )
    sizes_after = (*data.draw(st.lists(st.integers(1, 2), max_size=2)), *sizes_after)
    np.testing.assert_array_equal(slot.expanded(sizes_after).array(), np.broadcast_to(slot.array(), sizes_after))


@given(shapes, st.data())
def test_dense_in_any_order(shape: tuple[int, ...], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    slot = Slot(Store(0), shape, dense(shape, 4, order), np.dtype(np.int32))
    assert is_dense(slot, order)
    assert slot.permuted(order).reshaped((math.prod(shape),)) is not None
    large = [axis for axis in slot.order if shape[axis] > 1]
    assert large == [axis for axis in order if shape[axis] > 1]


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9), st.integers(0, 9)), max_size=12),
    st.sampled_from([0, 10, 9999]),
)
def test_stores_in_use_together_do_not_overlap(drawn: list[tuple[int, int, int]], spare: int) -> None:
    stores = [Store(nbytes, min(a, b), max(a, b)) for nbytes, a, b in drawn]
    offsets, total = arrange(stores, spare)
    assert total <= arrange(stores)[1] + spare
    for position, one in enumerate(stores):
        assert offsets[one] % ALIGNMENT == 0
        assert offsets[one] + one.nbytes <= total
        for other in stores[:position]:
            if one.first <= other.last and other.first <= one.last and one.nbytes and other.nbytes:
                assert offsets[one] + one.nbytes <= offsets[other] or offsets[other] + other.nbytes <= offsets[one]
    alive = [sum(s.nbytes for s in stores if s.first <= step <= s.last) for step in range(10)]
    assert total >= max(alive)


def test_stores_of_a_lane_have_the_same_middle() -> None:
    stores = [Store(nbytes, step, step + 1) for step, nbytes in enumerate((512, 2048, 1024, 4096, 128))]
    offsets, total = arrange(stores, 1 << 20)
    assert total == 4096 + 1024
    assert {offsets[store] + store.nbytes // 2 for store in stores} == {2048, 4096 + 512}


def test_memory_starts_at_a_cache_line() -> None:
    assert all(aligned(nbytes).ctypes.data % ALIGNMENT == 0 for nbytes in (1, 63, 64, 1000))
