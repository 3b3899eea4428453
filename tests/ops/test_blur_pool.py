"""Anti-aliased subsampling: published filters, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import TABLES
from tests.ops.harness import execute
from tests.ops.prediction import agrees_symbolically, predict


@pytest.mark.parametrize(
    ("size", "row"),
    [(2, [1, 1]), (3, [1, 2, 1]), (5, [1, 4, 6, 4, 1])],  # Rect-2, Tri-3 and Bin-5 of arXiv:1904.11486, section 3.2
)
def test_filter_is_the_published_one(size: int, row: list[int]) -> None:
    declared, table = ops.find("blur_pool2d"), TABLES.get("blur_pool2d")
    assert declared is not None and table is not None
    taps = np.array(row) / sum(row)
    filt = table(declared(filt_size=size), "filt", (4, 1, size, size))
    np.testing.assert_array_equal(filt, np.tile(taps[:, None] * taps, (4, 1, 1, 1)))


def test_blurring_keeps_a_constant() -> None:
    filt = np.outer([1, 2, 1], [1, 2, 1]).reshape(1, 1, 3, 3).astype("float32") / 16
    x = np.full((2, 3, 7, 8), 2.5, "float32")
    (y,) = execute("blur_pool2d", {}, x, weights={"filt": filt}).outputs
    np.testing.assert_array_equal(y, np.full((2, 3, 4, 4), 2.5, "float32"))


@settings(max_examples=25, deadline=None)
@given(
    filt_size=st.integers(2, 5),
    stride=st.integers(1, 3) | st.lists(st.integers(1, 3), min_size=2, max_size=2),
    mode=st.sampled_from(["reflect", "replicate", "circular", "constant"]),
    channels=st.none() | st.just(3),
    batch=st.lists(st.integers(1, 2), max_size=1),
    sizes=st.lists(st.integers(6, 9), min_size=2, max_size=2),
    grown=st.integers(0, 3),
)
def test_prediction_equals_execution(
    filt_size: int, stride: Any, mode: str, channels: int | None, batch: list[int], sizes: list[int], grown: int
) -> None:
    attrs = {"filt_size": filt_size, "stride": stride, "pad_mode": mode, "channels": channels}
    x = np.random.default_rng(0).normal(size=(*batch, 3, *sizes)).astype("float32")
    execute("blur_pool2d", attrs, x)
    if batch:
        agrees_symbolically("blur_pool2d", attrs, x.shape, grown)


@pytest.mark.parametrize(
    ("attrs", "shape", "said"),
    [
        ({"channels": 4}, (1, 3, 8, 8), "declared for 4 channels, and its input has 3"),
        ({"filt_size": 5}, (1, 3, 2, 8), "reflect padding must be smaller than the height of 2, and is 2"),
    ],
)
def test_invalid_inputs(attrs: dict[str, Any], shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict("blur_pool2d", attrs, shape)
    assert said in refused.value.message
