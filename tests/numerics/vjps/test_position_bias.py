"""Products of position biases against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.numerics.kernels import TABLES
from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import central_differences

WINDOWS: list[dict[str, Any]] = [
    {"window_size": [2, 3]},
    {"window_size": [2, 2], "class_token": True},
    {"window_size": [2, 2, 2]},
]


def _index(name: str, attrs: dict[str, Any], places: int) -> np.ndarray:
    table = TABLES.get(name)
    assert table is not None
    return table(operation(name, **attrs), "relative_position_index", (places * places,))


@pytest.mark.parametrize(("attrs", "places", "rows"), [*zip(WINDOWS, (6, 5, 8), (15, 12, 27), strict=True)])
def test_windows(attrs: dict[str, Any], places: int, rows: int) -> None:
    index = _index("relative_position_bias", {**attrs, "num_heads": 2}, places)
    weights = {"relative_position_bias_table": normal(rows, 2), "relative_position_index": index}
    central_differences("relative_position_bias", {**attrs, "num_heads": 2}, [], weights)
    central_differences("relative_position_lookup", attrs, [normal(rows, 2)], {"relative_position_index": index})


@pytest.mark.parametrize("attrs", [{}, {"bidirectional": False}, {"alignment": "lower_right", "num_buckets": 8}])
@pytest.mark.parametrize("key", [None, 7])
def test_buckets(attrs: dict[str, Any], key: int | None) -> None:
    arrays = [normal(2, 5, 4), normal(2, key, 4) if key else None]
    central_differences("t5_position_bias", {"num_heads": 3, **attrs}, arrays)
