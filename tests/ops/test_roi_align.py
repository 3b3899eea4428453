"""Pooling of regions: values by hand, execution, named sizes, and invalid inputs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import TRUTH, execute
from tests.ops.prediction import predict

#: Element (i, j) is 10·i + j, so that bilinear samples inside are 10·y + x.
RAMP = (10 * np.arange(5.0)[:, None] + np.arange(6.0))[None, None].astype(np.float32)


@pytest.mark.parametrize(
    ("attrs", "box", "bins"),
    [
        ({}, (0, 0, 4, 4), [[11, 13], [31, 33]]),  # samples in the middle of bins of 2 by 2
        ({"aligned": True}, (0, 0, 4, 4), [[5.5, 7.5], [25.5, 27.5]]),
        ({"spatial_scale": 0.5}, (2, 2, 10, 6), [[17, 19], [27, 29]]),
        ({}, (1, 1, 1, 1), [[13.75, 14.25], [18.75, 19.25]]),  # at least one element high and wide
        ({"aligned": True}, (1.5, 1.5, 1.5, 1.5), [[11, 11], [11, 11]]),
        ({}, (-3, 0, 5, 4), [[10, 13], [30, 33]]),  # a sample at x = −1 takes the first column
        ({}, (-4, 0, 4, 4), [[0, 12], [0, 32]]),  # one at −2 is a zero
        ({}, (2, 0, 10, 4), [[14, 0], [34, 0]]),  # and so is one beyond 6
        ({}, (0, 1, 4, 9), [[31, 33], [0, 0]]),
    ],
)
def test_values_by_hand(attrs: dict[str, Any], box: tuple[float, ...], bins: list[list[float]]) -> None:
    boxes = np.array(box, np.float32).reshape(1, 1, 4)
    (y,) = execute("roi_align", {"output_size": 2, "sampling_ratio": 1, **attrs}, RAMP, boxes).outputs
    np.testing.assert_allclose(y[0, 0], bins, rtol=1e-6)


def test_boxes_beyond_the_image() -> None:
    """Outputs of ONNX Runtime, which treats samples outside the image as torchvision's compiled operator does."""
    record = json.loads((TRUTH / "roi_align.json").read_text())
    x = np.array(record["input"], np.float32).reshape(2, 2, 4, 5)
    rois = np.column_stack([record["images"], np.reshape(record["boxes"], (6, 4))]).astype(np.float32)
    for case in record["cases"]:
        attrs = {name: case[name] for name in ("aligned", "sampling_ratio")}
        (y,) = execute("roi_align", {"output_size": [2, 3], "spatial_scale": 0.5, **attrs}, x, rois).outputs
        expected = np.reshape(case["output"], y.shape)
        assert (expected == 0).any() and (expected != 0).any()
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=2e-6)


def test_boxes_of_images() -> None:
    """Boxes with the numbers of their images are boxes by image in another order."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 6, 7)).astype(np.float32)
    boxes = rng.uniform(0, 6, (2, 3, 4)).astype(np.float32)
    attrs = {"output_size": [3, 2], "sampling_ratio": 2}
    (by_image,) = execute("roi_align", attrs, x, boxes).outputs
    order = [4, 0, 5, 2, 1, 3]
    rois = np.concatenate([np.repeat([[0.0], [1.0]], 3, 0), boxes.reshape(6, 4)], 1).astype(np.float32)[order]
    (numbered,) = execute("roi_align", attrs, x, rois).outputs
    np.testing.assert_array_equal(numbered, by_image[order])


@settings(max_examples=40, deadline=None)
@given(
    out=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    sampling=st.integers(1, 3),
    aligned=st.booleans(),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    each=st.integers(0, 3),
)
def test_prediction_equals_execution(
    out: tuple[int, int], sampling: int, aligned: bool, dtype: str, sizes: tuple[int, int], each: int
) -> None:
    rng = np.random.default_rng(0)
    attrs = {"output_size": list(out), "sampling_ratio": sampling, "aligned": aligned, "spatial_scale": 0.3}
    x, boxes = rng.normal(size=(2, 3, *sizes)), rng.uniform(-2, 24, (2, each, 4))
    execute("roi_align", attrs, x.astype(dtype), boxes.astype(dtype))
    n, k = symbol("n"), symbol("k", least=0)
    named = predict("roi_align", attrs, (n, 3, *sizes), (n, k, 4)).at(n=2, k=each)
    assert named == predict("roi_align", attrs, x.shape, boxes.shape).at()


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((2, 3, 5), (2, 1, 4)), "4 dimensions"),
        (((2, 3, 5, 5), (4, 4)), "takes boxes of (2, number, 4), or of (number, 5)"),
        (((2, 3, 5, 5), (1, 6, 4)), "and these are 1×6×4"),
        (((2, 3, 0, 5), (2, 1, 4)), "at least 1 element"),
    ],
)
def test_invalid_inputs(shapes: tuple[tuple[int, ...], ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict("roi_align", {"output_size": 7, "sampling_ratio": 2}, *shapes)
    assert said in refused.value.message


def test_other_refusals() -> None:
    declared = ops.find("roi_align")
    assert declared is not None
    op = declared(output_size=7, sampling_ratio=2)
    with pytest.raises(RuleError, match="takes boxes of float32, as its input, and not of float64"):
        op.infer(Context(), TensorType((1, 2, 3, 3)), TensorType((1, 4, 4), "float64"))
    for ratio in (0, -1):
        with pytest.raises(ValidationError, match=f"with {ratio} there are as many samples as a bin has elements"):
            declared(output_size=7, sampling_ratio=ratio)
    with pytest.raises(RuleError, match="a box of image 2, and the images are 0 to 1"):
        execute("roi_align", {"output_size": 1, "sampling_ratio": 1}, np.zeros((2, 1, 3, 3)), np.full((1, 5), 2.0))
