"""Kernel of :mod:`netcalc.ops.roi_align`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.diagnostics import RuleError
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.ops.roi_align import RoIAlign

#: Number of samples, over all channels, that are gathered at a time.
_AT_ONCE = 1 << 20


class Samples(NamedTuple):
    """Neighbors of the samples along one axis: indices and weights (boxes, samples) of the two of each."""

    indices: tuple[Array, Array]
    weights: tuple[Array, Array]


class Rows(NamedTuple):
    """Rows of bins, counted over all boxes, whose samples are gathered at once."""

    numbers: Array
    boxes: Array
    images: Array


@kernel("roi_align")
def roi_align(op: RoIAlign, run: Run, x: Array, boxes: Array) -> Array:
    rois = boxes if boxes.ndim == 2 else numbered(boxes)
    if boxes.ndim == 3:
        run.keep(rois=rois)
    source = np.moveaxis(wide(x), 1, -1)
    axes = placed(op, wide(rois), source.shape[1:3])
    height, width = op.output_size
    y = np.empty((len(rois) * height, width, source.shape[-1]), source.dtype)
    each = np.asarray(op.sampling_ratio**2, source.dtype)
    for rows in rows_of(op, rois, source.shape):
        total: Array | None = None
        for sample in range(op.sampling_ratio):
            part: Array | None = None
            for row, column, weight in neighbors(op, axes, rows, sample):
                values = source[rows.images, row, column] * weight[..., None]
                part = values if part is None else part + values
            assert part is not None
            line = np.add.reduce(part.reshape(len(part), width, op.sampling_ratio, source.shape[-1]), axis=2)
            total = line if total is None else total + line
        y[rows.numbers] = total / each
    bins = like(source, y).reshape(len(rois), height, width, source.shape[-1])
    return np.moveaxis(bins, -1, 1).astype(x.dtype, copy=False)


def numbered(boxes: Array) -> Array:
    """Return boxes (N, L, 4) as (N·L, 5), with the number of their image before the coordinates."""
    count, each, _ = boxes.shape
    images = np.repeat(np.arange(count, dtype=boxes.dtype), each)[:, None]
    return like(boxes, np.concatenate([images, np.asarray(boxes).reshape(-1, 4)], axis=1))


def placed(op: RoIAlign, rois: Array, sizes: tuple[int, ...]) -> tuple[Samples, Samples]:
    """Return the samples along height and width."""
    y, x = (_along(op, rois, axis, size) for axis, size in enumerate(sizes))
    return y, x


def _along(op: RoIAlign, rois: Array, axis: int, size: int) -> Samples:
    real = rois.dtype.type
    count = op.output_size[axis] * op.sampling_ratio
    ends = rois[:, 2 - axis :: 2] * real(op.spatial_scale)  # x1, y1, x2, y2 behind the number of the image
    if op.aligned:
        ends = ends - real(0.5)
    start, extent = ends[:, 0], ends[:, 1] - ends[:, 0]
    if not op.aligned:
        extent = np.maximum(extent, real(1))
    steps = np.arange(count).astype(rois.dtype) + real(0.5)
    at = start[:, None] + (extent / real(count))[:, None] * steps
    inside = np.fmin(np.fmax(at, 0), real(size - 1))
    first = np.floor(inside)
    beyond = inside - first
    outside = np.asarray(at < -1), np.asarray(at > size)
    weights = [_weight(at, outside, weight) for weight in (1 - beyond, beyond)]
    second = np.minimum(first + 1, size - 1)
    return Samples((_index(first), _index(second)), (weights[0], weights[1]))


def _weight(at: Array, outside: tuple[Array, Array], weight: Array) -> Array:
    """Return the weights of neighbors, zeros for samples more than one element outside the image."""
    for place in outside:
        weight = select(place, weight.dtype.type(0), weight)
    return select(np.isnan(np.asarray(at)), at, weight)


def _index(place: Array) -> Array:
    index: Array = np.asarray(place).astype(np.int64)
    return index


def rows_of(op: RoIAlign, rois: Array, shape: tuple[int, ...]) -> Iterator[Rows]:
    """Yield the rows of bins of all boxes on images (N, H, W, C), some at a time.

    Raises:
        RuleError: if a box has the number of an image that is not there.
    """
    images = np.asarray(rois[:, 0]).astype(np.int64)
    unknown = (images < 0) | (images >= shape[0])
    if unknown.any():
        raise RuleError(f"roi_align: a box of image {images[unknown][0]}, and the images are 0 to {shape[0] - 1}")
    height, width = op.output_size
    step = max(1, _AT_ONCE // max(width * op.sampling_ratio * shape[-1], 1))
    for start in range(0, len(images) * height, step):
        numbers = np.arange(start, min(start + step, len(images) * height))
        boxes = numbers // height
        yield Rows(numbers, boxes, images[boxes][:, None])


def neighbors(
    op: RoIAlign, axes: tuple[Samples, Samples], rows: Rows, sample: int
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield row, columns and weights (rows, samples) of each of the four neighbors of one line of samples."""
    y, x = axes
    at = rows.boxes, rows.numbers % op.output_size[0] * op.sampling_ratio + sample
    for row, down in zip(y.indices, y.weights, strict=True):
        for column, across in zip(x.indices, x.weights, strict=True):
            yield row[at][:, None], column[rows.boxes], down[at][:, None] * across[rows.boxes]
