"""Products of reductions against central differences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.backward import away, central_differences

few = settings(max_examples=15, deadline=None)


@st.composite
def reductions(draw: st.DrawFn) -> tuple[list[int], dict[str, Any]]:
    """Draw a shape, and the axes that are reduced."""
    shape = draw(st.lists(st.integers(1, 3), max_size=3))
    axes = draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0)), min_size=1).map(sorted))
    return shape, {"axis": axes, "keepdim": draw(st.booleans())}


@few
@given(drawn=reductions(), name=st.sampled_from(["sum", "mean"]))
def test_linear_reductions(drawn: tuple[list[int], dict[str, Any]], name: str) -> None:
    shape, attrs = drawn
    central_differences(name, attrs, [away(*shape)])


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_types(name: str) -> None:
    central_differences(name, {"axis": [1], "dtype": "float64"}, [away(2, 3)])
