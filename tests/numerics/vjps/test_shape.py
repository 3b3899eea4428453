"""Products of reshaping against central differences."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("reshape", {"shape": [4, -1]}, (2, 3, 4)),
        ("reshape", {"shape": []}, (1, 1)),
        ("flatten", {}, (2, 3, 4)),
        ("flatten", {"start_axis": -3, "end_axis": 1}, (2, 3, 4)),
        ("unflatten", {"axis": -1, "sizes": [2, -1]}, (3, 4)),
    ],
)
def test_reshaping(name: str, attrs: dict[str, Any], shape: tuple[int, ...]) -> None:
    central_differences(name, attrs, [away(*shape)])
