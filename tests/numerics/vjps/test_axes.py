"""Products of operations on whole axes against central differences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.backward import away, central_differences


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("squeeze", {}, (1, 3, 1)),
        ("squeeze", {"axis": [0, 1]}, (1, 3, 1)),
        ("unsqueeze", {"axis": -2}, (2, 3)),
        ("transpose", {"axes": [-1, 0]}, (2, 3, 4)),
    ],
)
def test_axes(name: str, attrs: dict[str, Any], shape: tuple[int, ...]) -> None:
    central_differences(name, attrs, [away(*shape)])


@settings(max_examples=15, deadline=None)
@given(axes=st.permutations(range(4)), negative=st.booleans())
def test_permute(axes: list[int], negative: bool) -> None:
    central_differences("permute", {"axes": [axis - 4 * negative for axis in axes]}, [away(2, 3, 4, 1)])
