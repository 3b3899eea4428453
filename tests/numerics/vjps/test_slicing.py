"""Products of ranges and look-ups against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("slice", {"axis": 1, "start": 1, "step": 2}),
        ("slice", {"axis": [-1, 0], "start": [-3, 0], "stop": [-1, None], "step": [1, 2]}),
        ("select", {"axis": 1, "index": 0}),
        ("select", {"axis": -1, "index": -2}),
        ("index_select", {"axis": -1, "indices": [0, 2, 2, -1]}),
        ("roll", {"shifts": 2}),
        ("roll", {"shifts": [1, -1, 1], "axis": [0, 2, -1]}),
        ("flip", {"axis": [0, -1]}),
    ],
)
def test_positions_from_attributes(name: str, attrs: dict[str, Any]) -> None:
    central_differences(name, attrs, [away(2, 3, 4)])


@settings(max_examples=20, deadline=None)
@given(axis=st.integers(-3, 2), count=st.integers(1, 5), seed=st.integers(0, 9))
def test_positions_from_a_tensor(axis: int, count: int, seed: int) -> None:
    """Positions that occur more than once receive the sum of the gradients."""
    rng, x = np.random.default_rng(seed), away(2, 3, 4)
    index = np.array(x.shape)
    index[axis] = count
    central_differences("index_select", {"axis": axis}, [x, rng.integers(0, x.shape[axis], count)])
    central_differences("gather", {"axis": axis}, [x, rng.integers(0, x.shape[axis], index)])


def test_an_index_may_be_shorter_than_the_input() -> None:
    central_differences("gather", {"axis": 1}, [away(3, 4), np.array([[1, 1, 0]])])
