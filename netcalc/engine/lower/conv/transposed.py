"""Transposed convolution whose windows do not overlap: a product, whose rows are spread over the windows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.numerics.kernels import wide


@lowering("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def lower_transposed(context: LoweringContext, node: GraphNode) -> bool:
    """Emit a transposed convolution that writes every pixel of the result once."""
    op, operand, result, constants = node.op, node.operand, node.result, context.constants
    apart = op.kernel == op.stride and set(op.dilation) == {1} and op.groups == 1
    bare = not any(chain(op.output_padding, *op.padding)) and node.inputs[1:] == [None, None]
    if not (apart and bare) or 0 in (*operand.shape, *result.shape):
        return False
    lead = len(operand.shape) - op.axes - 1  # 1 with a batch, 0 without
    order = (*range(lead), *range(lead + 1, len(operand.shape)), lead)
    dtype = compute_dtype(result.dtype)
    bias = None
    if constants.has(node, "bias"):
        bias = constants.derived((op.out,), dtype, lambda: wide(constants.fetch(node, "bias")))
    epilogue = Epilogue(context, node, node.outputs[0], node.after, order, bias)
    rows = context.emit.rows(node, context.emit.widened(node, context.layout.slot(operand)), order)
    images, sizes = math.prod(operand.shape[:lead]), operand.shape[lead + 1 :]
    out = context.layout.allocate(result, order).permuted(order).reshaped((result.elements // op.out, op.out))
    assert out is not None
    taps = math.prod(op.kernel)

    def load() -> Array:
        return np.moveaxis(wide(constants.fetch(node, "weight")), 1, -1).reshape(-1, taps * op.out)

    weight = constants.derived((operand.shape[lead], taps * op.out), dtype, load)
    width = math.prod(sizes[1:])
    pixels = max(context.tuning.transposed_rows, context.tuning.transposed_elements // (taps * op.out))
    jobs = context.parallelism.product_jobs(operand.elements * taps * op.out)
    tiles = cut_regions(images, sizes[0], width, pixels, jobs)

    def compute(tile: Region, target: Array, buffers: Buffers) -> Iterator[Pass]:
        start = (tile.first * sizes[0] + tile.top) * width
        count = tile.images * tile.height * width
        products = buffers.view("products", (count, taps * op.out))
        yield partial(np.matmul, rows.array()[start : start + count], weight.array(), products)
        counts = (tile.height, *sizes[1:])
        windows = products.reshape(tile.images, *counts, *op.kernel, op.out)
        places = chain(*((1 + axis, 1 + op.axes + axis) for axis in range(op.axes)))  # (row, tap, column, tap…)
        spread = windows.transpose(0, *places, 1 + 2 * op.axes)
        yield partial(np.copyto, target.reshape(spread.shape), spread)

    def index(tile: Region) -> tuple[slice, slice]:
        first = (tile.first * sizes[0] + tile.top) * width * taps
        return slice(first, first + tile.images * tile.height * width * taps), slice(0, op.out)

    emit_tiles(
        context,
        node,
        reads=(rows, weight),
        out=out,
        tiles=tiles,
        index=index,
        compute=compute,
        buffers={"products": max(tile.images * tile.height for tile in tiles) * width * taps * op.out},
        epilogue=epilogue,
        products=True,
    )
    return True
