"""Planned rotary embeddings."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.tuning import Tuning
from tests.engine.agreement import DTYPES, THREADS, agree, drawn, layouts
from tests.engine.tunings import TUNINGS

SCALINGS: list[Any] = [
    None,
    {"rope_type": "dynamic", "factor": 4.0, "original_max_position_embeddings": 8},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8},
]


@drawn
@given(st.data(), DTYPES, THREADS, TUNINGS)
def test_pairs_are_rotated(data: st.DataObject, dtype: str, threads: int, tuning: Tuning) -> None:
    lead = data.draw(st.lists(st.integers(1, 3), max_size=2))
    features = data.draw(st.integers(4, 12))
    attributes = {
        "rotary_dim": data.draw(st.sampled_from([n for n in range(4, features + 1) if n % 2 == 0])),
        "interleaved": data.draw(st.booleans()),
        "offset": data.draw(st.sampled_from([0, 7])),
        "scaling": data.draw(st.sampled_from(SCALINGS)),
    }
    x = data.draw(layouts([*lead, data.draw(st.integers(1, 9)), features]))
    agree({"rotary_embedding": attributes}, x, dtype=dtype, threads=threads, tuning=tuning)
