"""Interpolation by the compiled kernel, which reads all elements of a filter at once."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.library import blocks
from netcalc.engine.native.resample import MOST_PIXELS, Filter, resample
from netcalc.engine.step import Buffers
from netcalc.numerics.kernels.resize import filters, nearest, steps


@lowering("interpolate")
def lower_interpolate(context: LoweringContext, node: GraphNode) -> bool:
    """Emit weighted sums of images whose pixels are rows of channels; decline without a kernel or with few channels."""
    operand, result, size = node.operand, node.result, blocks()
    if not context.tuning.compiled or size is None or operand.shape[1] < size.lanes or result.elements == 0:
        return False
    if node.op.mode == "area" or compute_dtype(result.dtype) != np.float32:
        return False
    order = (0, *range(2, len(operand.shape)), 1)
    taps = [_filter(node, axis, out, factor) for axis, out, factor in steps(node.op, operand.shape)]
    if math.prod(places.shape[1] for places, _ in taps) > MOST_PIXELS:
        return False
    x = context.emit.widened(node, context.layout.slot(operand)).permuted(order)
    if x.strides[-1] != x.dtype.itemsize:
        x = context.emit.copy(node, x)
    strides = [stride // x.dtype.itemsize for stride in x.strides[1:-1]]
    first, *others = (Filter(places * step, weights) for (places, weights), step in zip(taps, strides, strict=True))
    context.patterns[node] = sum(array.nbytes for one in (first, *others) for array in one)
    out = context.joins.claim(result, order) or context.layout.allocate(result, order).permuted(order)
    pixels = max(1, context.tuning.strip_elements // math.prod(out.shape[2:]))
    tiles = cut_regions(out.shape[0], out.shape[1], 1, pixels, context.parallelism.pass_jobs(out.elements))

    def compute(tile: Region, array: Array, _: Buffers) -> list[Pass]:
        images = x.array()[tile.first : tile.end]
        return [resample(images, array, [first.part(tile.top, tile.bottom), *others])]

    emit_tiles(
        context,
        node,
        reads=(x,),
        out=out,
        tiles=tiles,
        index=lambda tile: (slice(tile.first, tile.end), slice(tile.top, tile.bottom)),
        compute=compute,
    )
    return True


def _filter(node: GraphNode, axis: int, out: int, factor: float | None) -> tuple[Array, Array]:
    """Return the elements along an axis that each of the result takes, and their weights; without weights one."""
    op, shape = node.op, node.operand.shape
    if not op.mode.startswith("nearest"):
        return filters(op, shape[axis], out, factor, np.float32)
    places = nearest(op, shape[axis], out, factor, len(shape) - 2)[:, None]
    return places, np.ones(places.shape, np.float32)
