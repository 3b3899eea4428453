"""Products of repeated elements against central differences."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("expand", {"shape": [2, 3, -1]}, (3, 1)),
        ("expand", {"shape": [2, -1, 4]}, (1, 3, 1)),
        ("expand", {"shape": [2]}, ()),
        ("tile", {"repeats": [2, 3]}, (2, 1, 3)),
        ("tile", {"repeats": [2, 1, 3]}, (2,)),
        ("tile", {"repeats": [1]}, (2, 2)),
        ("repeat_interleave", {"repeats": 3}, (2, 2)),
        ("repeat_interleave", {"repeats": 2, "axis": -2}, (2, 3, 2)),
        ("repeat_interleave", {"repeats": [2, 0, 3], "axis": 1}, (2, 3, 2)),
        ("repeat_interleave", {"repeats": [1, 0, 2, 1]}, (2, 2)),
    ],
)
def test_repetition(name: str, attrs: dict[str, Any], shape: tuple[int, ...]) -> None:
    central_differences(name, attrs, [away(*shape)])
