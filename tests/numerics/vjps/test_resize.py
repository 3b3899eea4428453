"""Products of resizing against central differences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.backward import away, central_differences

#: Number of spatial axes of each mode.
AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "lanczos", "area"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_interpolate(mode: str, data: st.DataObject) -> None:
    axes = AXES.get(mode) or data.draw(st.integers(1, 3))
    sizes = data.draw(st.lists(st.integers(2, 5), min_size=axes, max_size=axes))
    attrs: dict[str, Any] = {"mode": "trilinear" if mode == "linear" and data.draw(st.booleans()) else mode}
    if attrs["mode"] == "trilinear":
        sizes = [*sizes, 3, 4]
    if mode in ("linear", "bilinear", "bicubic"):
        attrs["align_corners"] = data.draw(st.booleans())
    if mode in ("bilinear", "bicubic", "lanczos"):
        attrs["antialias"] = mode == "lanczos" or data.draw(st.booleans())
    if data.draw(st.booleans()):
        attrs["size"] = data.draw(st.lists(st.integers(1, 7), min_size=len(sizes), max_size=len(sizes)))
    else:
        attrs["scale_factor"] = data.draw(st.sampled_from([0.5, 0.7, 1.0, 1.5, 2.0, 2.3]))
        attrs["recompute_scale_factor"] = data.draw(st.booleans())
    central_differences("interpolate", attrs, [away(2, 2, *sizes)])
