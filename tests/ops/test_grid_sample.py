"""Sampling at computed positions: values by hand, execution, named sizes, and invalid inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, symbol
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute
from tests.ops.prediction import predict

IMAGE = np.array([[[[1, 2], [3, 4]]]], np.float32)


@pytest.mark.parametrize(
    ("attrs", "place", "value"),
    [
        ({}, (0, 0), 2.5),  # the centre weights all four
        ({}, (-1, -1), 0.25),  # the corner of the corner element: three of four neighbours are zeros
        ({"align_corners": True}, (-1, 1), 3),  # (x, y): the first column, the last row
        ({"padding_mode": "border"}, (-3, -1), 1),
        ({"padding_mode": "reflection", "align_corners": True}, (2, -1), 1.5),
        ({"mode": "nearest"}, (0.6, -0.6), 2),
        ({"mode": "nearest"}, (2.6, -0.6), 0),
    ],
)
def test_values_by_hand(attrs: dict[str, Any], place: tuple[float, float], value: float) -> None:
    (y,) = execute("grid_sample", attrs, IMAGE, np.array(place, np.float32).reshape(1, 1, 1, 2)).outputs
    assert y.shape == (1, 1, 1, 1)
    np.testing.assert_allclose(y.item(), value, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    axes=st.integers(2, 3),
    mode=st.sampled_from(["bilinear", "nearest", "bicubic"]),
    padding=st.sampled_from(["zeros", "border", "reflection"]),
    corners=st.booleans(),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    sizes=st.lists(st.integers(1, 5), min_size=6, max_size=6),
)
def test_prediction_equals_execution(
    axes: int, mode: str, padding: str, corners: bool, dtype: str, sizes: list[int]
) -> None:
    if axes == 3 and mode == "bicubic":
        return
    rng = np.random.default_rng(0)
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    x, grid = rng.normal(size=(2, 3, *sizes[:axes])), rng.normal(size=(2, *sizes[3 : 3 + axes], axes))
    execute("grid_sample", attrs, x.astype(dtype), grid.astype(dtype))
    n, h = symbol("n"), symbol("h")
    names: tuple[Dim, ...] = (n, *sizes[3 : 2 + axes], h, axes)
    found = predict("grid_sample", attrs, (n, 3, *sizes[:axes]), names).at(n=2, h=sizes[2 + axes])
    assert found == predict("grid_sample", attrs, x.shape, grid.shape).at()


@pytest.mark.parametrize(
    ("attrs", "shapes", "said"),
    [
        ({}, ((1, 2, 3), (1, 2, 3)), "4 or 5 dimensions"),
        ({}, ((1, 2, 3, 3), (2, 4, 4, 2)), "takes a grid of (1, out_height, out_width, 2), and this is 2×4×4×2"),
        ({}, ((1, 2, 3, 3), (1, 4, 4, 3)), "takes a grid of (1, out_height, out_width, 2)"),
        ({"mode": "bicubic"}, ((1, 2, 3, 3, 3), (1, 4, 4, 4, 3)), "bicubic takes an input of 4 dimensions"),
    ],
)
def test_invalid_inputs(attrs: dict[str, Any], shapes: tuple[tuple[int, ...], ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict("grid_sample", attrs, *shapes)
    assert said in refused.value.message


def test_the_grid_has_the_type_of_the_image() -> None:
    declared = ops.find("grid_sample")
    assert declared is not None
    with pytest.raises(RuleError, match="takes a grid of float32, as its input, and not of float64"):
        declared().infer(Context(), TensorType((1, 2, 3, 3)), TensorType((1, 4, 4, 2), "float64"))
