"""Tensors joined into one, planned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.numerics.plan.agreement import DTYPES, THREADS, agree, drawn, lying
from tests.numerics.plan.test_programs import pieces

SIZES = st.lists(st.sampled_from([1, 2, 3, 7, 16]), min_size=1, max_size=4)


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, st.booleans())
def test_end_to_end(data: st.DataObject, shape: list[int], dtype: str, threads: int, small: bool) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    given = []
    for size in data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)):
        given.append(data.draw(lying([*shape[:axis], size, *shape[axis + 1 :]])))
    with pieces(small):
        agree(
            {"concat": {"axis": axis - data.draw(st.sampled_from([0, len(shape)]))}},
            *given,
            dtype=dtype,
            threads=threads,
        )


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, st.booleans())
def test_side_by_side(data: st.DataObject, shape: list[int], dtype: str, threads: int, small: bool) -> None:
    given = [data.draw(lying(shape)) for _ in range(data.draw(st.integers(1, 4)))]
    with pieces(small):
        agree(
            {"stack": {"axis": data.draw(st.integers(-len(shape) - 1, len(shape)))}},
            *given,
            dtype=dtype,
            threads=threads,
        )


def test_types_are_joined_too() -> None:
    """The result has the type that holds all of them, and copies convert."""
    agree({"concat": {}}, ([2, 3], []), ([2, 4], [{"cast": "float64"}]))
    agree({"stack": {}}, ([2, 3], [{"cast": "int64"}]), ([2, 3], []))
