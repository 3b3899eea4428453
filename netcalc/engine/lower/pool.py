"""Pooling with a sliding window, or over equal parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.compiled_pool import compiled_passes, use_compiled_pool
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.pool_windows import AxisWindows, Pooling
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels._pooling import elements, windows_of


@lowering("max_pool1d", "max_pool2d", "max_pool3d")
def lower_max_pool(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the largest element of each window."""
    return not node.op.return_indices and _lower(context, node, _sliding_windows(node), np.maximum, -np.inf)


@lowering("avg_pool1d", "avg_pool2d", "avg_pool3d")
def lower_average_pool(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the mean of each window."""
    op, axes = node.op, _sliding_windows(node)
    if op.divisor_override is not None:
        return _lower(context, node, axes, np.add, 0, np.array(1 / op.divisor_override))
    sizes = [axis.size for axis in axes]
    divisor = elements(windows_of(op, sizes), sizes, with_padding=op.count_include_pad)
    return _lower(context, node, axes, np.add, 0, 1 / (divisor if np.ptp(divisor) else divisor.flat[0]))


@lowering("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def lower_adaptive_max_pool(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the largest element of each of equal parts."""
    return not node.op.return_indices and _lower(context, node, _equal_parts(node), np.maximum, -np.inf)


@lowering("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def lower_adaptive_average_pool(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the mean of each of equal parts."""
    axes = _equal_parts(node)
    return _lower(context, node, axes, np.add, 0, np.array(1 / math.prod(axis.kernel for axis in axes)))


def _sliding_windows(node: GraphNode) -> list[AxisWindows]:
    """Return the windows of a sliding kernel along each axis."""
    op = node.op
    sizes, counts = _sizes(node)
    before = [first for first, _ in op.pads(sizes)]
    every = zip(sizes, counts, op.kernel, op.strides, before, op.dilations, strict=True)
    return [AxisWindows(*axis) for axis in every]


def _equal_parts(node: GraphNode) -> list[AxisWindows]:
    """Return the parts along each axis as windows; none if the parts are not equal."""
    sizes, counts = _sizes(node)
    if 0 in counts or any(size % count for size, count in zip(sizes, counts, strict=True)):
        return []
    return [AxisWindows(n, count, n // count, n // count, 0, 1) for n, count in zip(sizes, counts, strict=True)]


def _sizes(node: GraphNode) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the spatial sizes of the operand and of the result."""
    assert node.inputs[0] is not None
    axes = node.op.axes
    return node.inputs[0].shape[-axes:], node.outputs[0].shape[-axes:]


def _lower(
    context: LoweringContext,
    node: GraphNode,
    axes: list[AxisWindows],
    join: Callable[..., Any],
    neutral: float,
    factor: Array | None = None,
) -> bool:
    """Emit the pooling of images whose pixels are rows of channels; decline without axes."""
    operand, result = node.operand, node.outputs[0]
    if not axes or 0 in (*operand.shape, *result.shape):
        return False
    images, pooled = _image_slots(context, node, len(axes))
    channels = images.shape[-1]
    pooling = Pooling(axes, channels, join, neutral, factor)
    row = channels * math.prod(max(axis.size, axis.windows) for axis in axes[1:])
    jobs = context.parallelism.pass_jobs(images.elements)
    pixels = max(1, context.tuning.strip_elements // row)
    tiles = cut_regions(pooled.shape[0], pooled.shape[1], 1, pixels, jobs)
    compiled = use_compiled_pool(images, axes, context.tuning)
    passes = partial(compiled_passes, pooling) if compiled else pooling.passes
    shapes = [{} if compiled else pooling.buffer_shapes(tile) for tile in tiles]

    def index(tile: Region) -> tuple[slice, slice]:
        return slice(tile.first, tile.end), slice(tile.top, tile.bottom)

    emit_tiles(
        context,
        node,
        reads=(images,),
        out=pooled,
        tiles=tiles,
        index=index,
        compute=lambda tile, result, buffers: passes(images.array()[tile.first : tile.end], result, tile, buffers),
        buffers={name: max(math.prod(one[name]) for one in shapes) for name in shapes[0]},
    )
    return True


def _image_slots(context: LoweringContext, node: GraphNode, axes: int) -> tuple[Slot, Slot]:
    """Return the operand and the result as (batch, sizes…, channels), rows of the operand contiguous."""
    operand, result = node.operand, node.outputs[0]
    lead = len(operand.shape) - axes - 1  # 1 with a batch, 0 without
    order = (*range(lead), *range(lead + 1, len(operand.shape)), lead)
    x = context.emit.widened(node, context.layout.slot(operand)).permuted(order)
    out = context.layout.allocate(result, order).permuted(order)
    channels, itemsize = x.shape[-1], x.dtype.itemsize
    if x.strides[-2:] != (channels * itemsize, itemsize):
        x = context.emit.copy(node, x)
    images, pooled = (slot.reshaped((math.prod(slot.shape[:lead]), *slot.shape[lead:])) for slot in (x, out))
    assert images is not None and pooled is not None
    return images, pooled
