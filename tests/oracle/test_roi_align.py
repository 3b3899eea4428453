"""Pooling of regions, against torchvision's implementation in Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_saved_tensors import agree_on_saved

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision.ops")


def pooled(
    x: Any, boxes: Any, output_size: tuple[int, int], spatial_scale: float, sampling_ratio: int, aligned: bool
) -> Any:
    """Return ``torchvision.ops.roi_align`` of boxes in the image, without the compiled operator.

    The function takes samples outside as the nearest elements, which the compiled operator does only up to one element.
    """
    module: Any = sys.modules["torchvision.ops.roi_align"]
    module.check_roi_boxes_shape(boxes if boxes.dim() == 2 else list(boxes))
    rois = boxes if boxes.dim() == 2 else module.convert_boxes_to_roi_format(list(boxes))
    if rois.dtype != x.dtype:
        raise TypeError("rois must have the type of the input")
    return module._roi_align.__wrapped__(x, rois.detach(), spatial_scale, *output_size, sampling_ratio, aligned)


class Pool(torch.autograd.Function):  # type: ignore[name-defined,misc]
    """The compiled operator's function: it saves the boxes with the numbers of their images, and nothing else."""

    @staticmethod
    def forward(ctx: Any, x: Any, rois: Any) -> Any:
        ctx.save_for_backward(rois)
        return pooled(x, rois, (2, 3), 0.5, 2, False)


@draws
@given(
    out=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    sampling=st.integers(1, 4),
    aligned=st.booleans(),
    scale=st.sampled_from([0.25, 0.5, 1.0]),
    numbered=st.booleans(),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 1000),
)
def test_roi_align(
    out: tuple[int, int], sampling: int, aligned: bool, scale: float, numbered: bool, dtype: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 2)
    x = rng.normal(size=(2, 3, *sizes))
    # some boxes are not one element wide or high, which without alignment are extended to one
    extent = rng.uniform(0, 1, (2, 4, 2)) * rng.choice([1, 0.1], (2, 4, 1)) * sizes[::-1]
    start = rng.uniform(0, 1, (2, 4, 2)) * (sizes[::-1] - np.maximum(extent, 1))
    boxes = np.concatenate([start, start + extent], axis=2) / scale
    if numbered:
        boxes = np.concatenate([rng.integers(0, 2, (8, 1)), boxes.reshape(8, 4)], axis=1)
    attrs: dict[str, Any] = {"output_size": out, "sampling_ratio": sampling, "aligned": aligned, "spatial_scale": scale}
    arrays: list[np.ndarray | None] = [x.astype(dtype), boxes.astype(dtype)]
    agree("roi_align", attrs, arrays, lambda _, x, boxes: pooled(x, boxes, **attrs), constants=(1,), tolerance=1e-4)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5), (2, 5)])
def test_shapes_of_boxes(shape: tuple[int, ...]) -> None:
    attrs: dict[str, Any] = {"output_size": (2, 2), "sampling_ratio": 1, "aligned": False, "spatial_scale": 1.0}
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype(np.float32)
    boxes = np.ones(shape, np.float32)
    agree("roi_align", attrs, [x, boxes], lambda _, x, boxes: pooled(x, boxes, **attrs), constants=(1,))


def test_saved_tensors() -> None:
    x, rois = np.ones((2, 3, 4, 5), np.float32), np.ones((4, 5), np.float32)
    attrs: dict[str, Any] = {"output_size": (2, 3), "sampling_ratio": 2, "spatial_scale": 0.5}
    agree_on_saved("roi_align", attrs, [x, rois], Pool.apply, {0})
