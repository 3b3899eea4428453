"""Winograd's minimal filtering by compiled kernels, which read the image and write the pixels in place.

Beside F(2×2, 3×3) they have F(4×4, 3×3), with 36 multiplications instead of 144, whose transforms would take too many
passes over memory otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution, ConvTile, cut_tiles, unflattened
from netcalc.engine.lower.conv.winograd_transforms import transform_filters
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.engine.lower.small_gemm import blocks
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.native.winograd import winograd_input, winograd_output
from netcalc.engine.step import Buffers

#: Elements between the positions of a tile: planes that are a multiple of some kilobytes apart would take turns in the
#: same lines of the cache.
_GAP = 16


def emit_winograd(context: LoweringContext, conv: Convolution, side: int) -> None:
    """Emit a step that transforms, multiplies and transforms back, tile by tile of so many pixels on a side."""
    tuning, channels, outs, positions = context.tuning, conv.channels, conv.outs, (side + 2) ** 2
    x = conv.x if conv.x.strides[-1] == conv.x.dtype.itemsize else context.emit.copy(conv.node, conv.x)
    down, across = (-(-count // side) for count in conv.counts)
    count = max(tuning.winograd_least_tiles, tuning.winograd_elements // (positions * (channels + outs)))
    tiles = cut_tiles(conv, down, across, count, context.parallelism.product_jobs(conv.macs), tuning)
    rows = across * max(tile.region.images * tile.region.height for tile in tiles)
    columns, blas_threads = tiles[0].channels.stop, context.parallelism.blas_threads
    _, width = blocks(rows, channels, columns, blas_threads, tuning)
    weight = context.constants.filled(
        (positions, outs // width, channels, width),
        x.dtype,
        lambda filters: transform_filters(conv.filters(), side, tuning.winograd_filters, filters),
    )

    def pixels(region: Region) -> Region:
        return region._replace(top=side * region.top, bottom=min(side * region.bottom, conv.counts[0]))

    def compute(tile: ConvTile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        region, part = tile
        shape, columns = (region.images, region.height, across), part.stop - part.start
        rows = region.images * region.height * across
        operand = _planes(buffers["tiles"], positions, rows * channels)
        products = _planes(buffers["products"], positions, rows * columns)
        height, _ = blocks(rows, channels, width, blas_threads, tuning)
        tiles = operand.reshape(side + 2, side + 2, *shape, channels)
        yield winograd_input(
            x.array()[region.first : region.end], tiles, side * region.top - conv.pads[0][0], -conv.pads[1][0]
        )
        yield partial(
            np.matmul,
            operand.reshape(positions, 1, rows // height, height, channels),
            weight.array()[:, part.start // width : part.stop // width, None],
            products.reshape(positions, rows // height, height, columns // width, width).transpose(0, 3, 1, 2, 4),
        )
        image = unflattened(result, (region.images, pixels(region).height, conv.counts[1], columns))
        yield winograd_output(products.reshape(side + 2, side + 2, *shape, columns), image)

    emit_tiles(
        context,
        conv.node,
        reads=(x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=lambda tile: (conv.pixels(pixels(tile.region)), tile.channels),
        compute=compute,
        buffers={"tiles": positions * (rows * channels + _GAP), "products": positions * (rows * columns + _GAP)},
        epilogue=conv.epilogue,
        products=True,
    )


def _planes(buffer: Array, positions: int, elements: int) -> Array:
    """Return a buffer as planes of so many elements, with gaps between."""
    return buffer[: positions * (elements + _GAP)].reshape(positions, elements + _GAP)[:, :elements]
