"""Resizing and pixel shuffling with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_shape import filled

torch = pytest.importorskip("torch")

MODES = ["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "lanczos", "trilinear", "area"]
#: Number of axes of the modes that require one.
AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}
#: Factors that give integer sizes, and factors that do not.
FACTORS = st.sampled_from([0.2, 1 / 3, 0.5, 0.7, 1.0, 1.3, 1.5, 2.0, 2.1, 3.0]) | st.floats(0.25, 3)


@st.composite
def resizings(draw: st.DrawFn, mode: str) -> tuple[list[int], dict[str, Any]]:
    axes = AXES.get(mode)
    if axes is None or draw(st.integers(0, 9)) == 0:  # sometimes an invalid number
        axes = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 2)), draw(st.integers(1, 2)), *(draw(st.integers(1, 9)) for _ in range(axes))]
    attrs: dict[str, Any] = {"mode": mode}
    filters = mode in ("linear", "bilinear", "bicubic", "trilinear")
    attrs["align_corners"] = draw(st.booleans()) if filters else draw(st.integers(0, 9)) == 0
    smooth = mode in ("bilinear", "bicubic")
    attrs["antialias"] = draw(st.booleans()) if smooth else (mode == "lanczos") != (draw(st.integers(0, 9)) == 0)
    if draw(st.booleans()):
        size = st.integers(1, 12)
        attrs["size"] = draw(size | st.lists(size, min_size=axes, max_size=axes))
    else:
        attrs["scale_factor"] = draw(FACTORS | st.lists(FACTORS, min_size=axes, max_size=axes))
        attrs["recompute_scale_factor"] = draw(st.booleans())
    return shape, attrs


def interpolated(attrs: dict[str, Any], x: Any) -> Any:
    """torch refuses align_corners in modes that do not use it, even if it is False."""
    given = {k: v for k, v in attrs.items() if k != "align_corners" or v}
    y = torch.nn.functional.interpolate(x, **given)
    assert y.numel(), "torch refuses a size of 0 in most modes, and area gives an empty tensor"
    return y


def width(shape: list[int], attrs: dict[str, Any]) -> int:
    """Return the width of the result."""
    given = attrs.get("size", attrs.get("scale_factor"))
    last = given[-1] if isinstance(given, list) else given
    return last if "size" in attrs else int(shape[-1] * last)


def differentiated(attrs: dict[str, Any], x: np.ndarray) -> bool:
    """Return False where torch's gradient is not that of its own result.

    For a result of the same size, torch 2.13 takes the ratio of sizes instead of the factor forward, but not backward.
    """
    if "scale_factor" not in attrs or attrs["recompute_scale_factor"]:
        return True
    double = torch.from_numpy(x.astype(np.float64)).requires_grad_()
    try:
        return bool(torch.autograd.gradcheck(lambda x: interpolated(attrs, x), double, raise_exception=False))
    except Exception:
        return True


@pytest.mark.parametrize("mode", MODES)
@draws
@given(data=st.data(), dtype=st.sampled_from(["float32", "float64", "float16"]))
def test_interpolate(mode: str, data: st.DataObject, dtype: str) -> None:
    shape, attrs = data.draw(resizings(mode))
    if attrs["antialias"]:
        assume(dtype != "float16")  # which torch lacks on the CPU
        assume(width(shape, attrs) > 1)  # torch 2.13 gives every row of a single column the first row's weights
    x = filled(shape).astype(dtype)
    agree(
        "interpolate",
        attrs,
        [x],
        lambda w, x: interpolated(attrs, x),
        tolerance=2e-3 if dtype == "float16" else 2e-5,
        gradients=differentiated(attrs, x),
    )


@pytest.mark.parametrize(
    ("name", "attribute"),
    [("pixel_shuffle", "upscale_factor"), ("pixel_unshuffle", "downscale_factor"), ("channel_shuffle", "groups")],
)
@draws
@given(shape=st.lists(st.sampled_from([1, 2, 4, 8, 9]), min_size=2, max_size=5), factor=st.integers(1, 3))
def test_shuffles(name: str, attribute: str, shape: list[int], factor: int) -> None:
    function = getattr(torch.nn.functional, name)
    agree(name, {attribute: factor}, [filled(shape)], lambda w, x: function(x, factor))
