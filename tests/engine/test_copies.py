"""Planned concatenation, stacking, padding, rolling and shuffling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.tuning import Tuning
from tests.engine.agreement import DTYPES, THREADS, agree, drawn, layouts
from tests.engine.tunings import TUNINGS

SIZES = st.lists(st.sampled_from([1, 2, 3, 7, 16]), min_size=1, max_size=4)


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, TUNINGS)
def test_concat(data: st.DataObject, shape: list[int], dtype: str, threads: int, tuning: Tuning) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    operands = []
    for size in data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)):
        operands.append(data.draw(layouts([*shape[:axis], size, *shape[axis + 1 :]])))
    agree(
        {"concat": {"axis": axis - data.draw(st.sampled_from([0, len(shape)]))}},
        *operands,
        dtype=dtype,
        threads=threads,
        tuning=tuning,
    )


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, TUNINGS)
def test_stack(data: st.DataObject, shape: list[int], dtype: str, threads: int, tuning: Tuning) -> None:
    operands = [data.draw(layouts(shape)) for _ in range(data.draw(st.integers(1, 4)))]
    agree(
        {"stack": {"axis": data.draw(st.integers(-len(shape) - 1, len(shape)))}},
        *operands,
        dtype=dtype,
        threads=threads,
        tuning=tuning,
    )


def test_types_are_promoted() -> None:
    """The result has the promoted type; the copies convert to it."""
    agree({"concat": {}}, ([2, 3], []), ([2, 4], [{"cast": "float64"}]))
    agree({"stack": {}}, ([2, 3], [{"cast": "int64"}]), ([2, 3], []))


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, TUNINGS)
def test_padding_and_cropping(data: st.DataObject, shape: list[int], dtype: str, threads: int, tuning: Tuning) -> None:
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
    sides = []
    for axis in axes:
        before = data.draw(st.integers(1 - shape[axis], 3))
        sides.append([before, data.draw(st.integers(1 - shape[axis] - min(before, 0), 3))])
    value = data.draw(st.sampled_from([0.0, -1.5]))
    x = data.draw(layouts(shape))
    agree({"pad": {"padding": sides, "axis": axes, "value": value}}, x, dtype=dtype, threads=threads, tuning=tuning)


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, TUNINGS)
def test_rolling(data: st.DataObject, shape: list[int], dtype: str, threads: int, tuning: Tuning) -> None:
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=3))
    shifts = [data.draw(st.integers(-20, 20)) for _ in axes]
    agree(
        {"roll": {"shifts": shifts, "axis": axes}},
        data.draw(layouts(shape)),
        dtype=dtype,
        threads=threads,
        tuning=tuning,
    )


@drawn
@given(st.data(), st.integers(1, 5), st.integers(1, 5), DTYPES, THREADS, TUNINGS)
def test_shuffling(data: st.DataObject, groups: int, share: int, dtype: str, threads: int, tuning: Tuning) -> None:
    shape = [
        data.draw(st.integers(1, 3)),
        groups * share,
        *data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=2)),
    ]
    agree(
        {"channel_shuffle": {"groups": groups}}, data.draw(layouts(shape)), dtype=dtype, threads=threads, tuning=tuning
    )


def test_other_padding_modes_fall_back_to_the_kernel() -> None:
    for mode in ("reflect", "replicate", "circular"):
        agree({"pad": {"padding": [2], "mode": mode}}, ([3, 4], []), planned=False)
