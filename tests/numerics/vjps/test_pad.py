"""Products of padding, of windows as columns, of blurring and of shuffles against central differences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from tests.ops.backward import away, central_differences

few = settings(max_examples=20, deadline=None)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["constant", "reflect", "replicate", "circular"]),
    st.lists(st.tuples(st.integers(-6, 4), st.integers(-6, 4)).map(list), min_size=1, max_size=3),
    st.data(),
)
def test_pad(mode: str, padding: list[list[int]], data: st.DataObject) -> None:
    axis = data.draw(st.none() | st.permutations(range(3)))
    attrs: dict[str, Any] = {"mode": mode, "padding": padding, "axis": axis and axis[: len(padding)]}
    try:
        central_differences("pad", attrs, [away(3, 5, 4)])
    except RuleError:
        assume(False)


@few
@given(
    st.lists(st.integers(1, 3), min_size=2, max_size=2),
    st.integers(1, 3),
    st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=2, max_size=2),
    st.integers(1, 2),
    st.lists(st.integers(1, 2), max_size=1),
)
def test_fold(kernel: list[int], stride: int, padding: list[list[int]], dilation: int, batch: list[int]) -> None:
    attrs = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    central_differences("unfold", attrs, [away(*batch, 2, 5, 6)])
    counts = 1
    for size, k, (before, after) in zip((5, 6), kernel, padding, strict=True):
        counts *= (size + before + after - dilation * (k - 1) - 1) // stride + 1
    central_differences("fold", {"output_size": [5, 6], **attrs}, [away(*batch, 2 * kernel[0] * kernel[1], counts)])


@few
@given(
    st.integers(2, 5),
    st.integers(1, 3),
    st.sampled_from(["reflect", "replicate", "circular", "constant"]),
    st.booleans(),
    st.lists(st.integers(1, 2), max_size=1),
)
def test_blur_pool(filt_size: int, stride: int, mode: str, shared: bool, batch: list[int]) -> None:
    attrs = {"filt_size": filt_size, "stride": stride, "pad_mode": mode, "channels": None if shared else 3}
    central_differences("blur_pool2d", attrs, [away(*batch, 3, 6, 7)])


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_pixel_shuffles(lead: tuple[int, ...]) -> None:
    central_differences("pixel_shuffle", {"upscale_factor": 2}, [away(*lead, 8, 2, 3)])
    central_differences("pixel_unshuffle", {"downscale_factor": 2}, [away(*lead, 2, 4, 6)])


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_channel_shuffle(groups: int) -> None:
    central_differences("channel_shuffle", {"groups": groups}, [away(2, 6, 3)])
