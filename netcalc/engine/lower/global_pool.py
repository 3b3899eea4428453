"""Pooling over all pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers, cuts
from netcalc.engine.storage import Slot


@lowering("global_avg_pool1d", "global_avg_pool2d", "global_avg_pool3d")
def lower_global_average(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the mean of each channel."""
    return _lower(context, node, mean=True)


@lowering("global_max_pool1d", "global_max_pool2d", "global_max_pool3d")
def lower_global_maximum(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the largest element of each channel."""
    return _lower(context, node, mean=False)


def _lower(context: LoweringContext, node: GraphNode, mean: bool) -> bool:
    operand, result = node.operand, node.outputs[0]
    if 0 in operand.shape:
        return False
    x = _channels_of_pixels(context, node)
    batch, channels, pixels = x.shape
    out = context.layout.allocate(result).reshaped((batch, channels))
    assert out is not None
    dtype = x.dtype
    jobs = context.parallelism.pass_jobs(x.elements)
    by_image = cuts(batch, jobs)
    by_channel = cuts(channels, -(-jobs // len(by_image)))
    in_rows = mean and channels > 1 and x.strides[1] == dtype.itemsize
    ones = context.constants.ones(pixels, dtype) if in_rows else None

    def compute(tile: tuple[slice, slice], result: Array, buffers: Buffers) -> Iterator[Pass]:
        if ones is not None:  # BLAS sums rows of channels faster than the ufunc does
            yield partial(np.matmul, ones.array(), x.array()[tile].swapaxes(1, 2), result)
            yield partial(np.divide, result, dtype.type(pixels), result)
            return
        yield partial((np.add if mean else np.maximum).reduce, x.array()[tile], axis=2, out=result)
        if mean:
            yield partial(np.divide, result, dtype.type(pixels), result)

    emit_tiles(
        context,
        node,
        reads=(x,) if ones is None else (x, ones),
        out=out,
        tiles=[(slice(*images), slice(*part)) for images in by_image for part in by_channel],
        index=lambda tile: tile,
        compute=compute,
    )
    return True


def _channels_of_pixels(context: LoweringContext, node: GraphNode) -> Slot:
    """Return the operand as (batch, channels, pixels), in place if its pixels lie in order or as rows of channels."""
    operand, result = node.operand, node.outputs[0]
    lead = len(operand.shape) - node.op.axes - 1  # 1 with a batch, 0 without
    batch, channels = math.prod(operand.shape[:lead]), operand.shape[lead]
    pixels = math.prod(operand.shape[lead + 1 :])
    slot = context.emit.widened(node, context.layout.slot(operand))
    x = slot.reshaped((batch, channels, pixels))
    if x is None or (pixels > 1 and x.strides[2] != compute_dtype(result.dtype).itemsize):
        rows = context.emit.rows(node, slot, (*range(lead), *range(lead + 1, len(operand.shape)), lead))
        images = rows.reshaped((batch, pixels, channels))
        assert images is not None
        x = images.permuted((0, 2, 1))
    return x
