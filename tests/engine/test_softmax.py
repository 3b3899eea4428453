"""Planned softmax."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.tuning import Tuning
from tests.engine.agreement import DTYPES, THREADS, agree, drawn, layouts
from tests.engine.tunings import TUNINGS

SIZES = st.lists(st.sampled_from([1, 2, 3, 7, 16]), min_size=1, max_size=4)


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, TUNINGS, st.booleans())
def test_softmax_over_any_axis(
    data: st.DataObject, shape: list[int], dtype: str, threads: int, tuning: Tuning, nan: bool
) -> None:
    line = {
        data.draw(st.sampled_from(["softmax", "log_softmax"])): {
            "axis": data.draw(st.integers(-len(shape), len(shape) - 1))
        }
    }
    agree(line, data.draw(layouts(shape)), dtype=dtype, threads=threads, tuning=tuning, nan=nan)
