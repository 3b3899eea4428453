"""Convolution with 3×3 filters by Winograd's minimal filtering F(2×2, 3×3): 16 multiplications instead of 36.

Tiles of 4×4 pixels that overlap by two are transformed (by additions alone) and multiplied with transformed filters
position by position, which is 16 products of (tiles, channels) with (channels, filters).  The products are transformed
back to 2×2 pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.compiled_winograd import emit_compiled_winograd
from netcalc.engine.lower.conv.geometry import Convolution, ConvTile, cut_tiles, unflattened
from netcalc.engine.lower.conv.winograd_choice import kernels_apply
from netcalc.engine.lower.conv.winograd_transforms import (
    fill_phases,
    transform_filters,
    transform_input,
    transform_output,
)
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.engine.lower.small_gemm import blocks
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning


@dataclass(frozen=True, slots=True)
class _Winograd:
    """A convolution cut into tiles, its transformed filters, and the columns of a block of its products.

    Regions of the tiles count rows of 4×4 tiles, not of pixels.
    """

    conv: Convolution
    weight: Slot
    width: int
    across: int
    blas_threads: int
    tuning: Tuning

    def slab_shape(self, region: Region) -> tuple[int, ...]:
        """Return (images, even and odd rows, rows, even and odd columns, columns, channels)."""
        return (region.images, 2, region.height + 1, 2, self.across + 1, self.conv.channels)

    def lines_shape(self, region: Region) -> tuple[int, ...]:
        """Return (positions in a row of a tile, images, even and odd rows, rows, tiles across, channels)."""
        return (4, region.images, 2, region.height + 1, self.across, self.conv.channels)

    def pixel_region(self, region: Region) -> Region:
        """Return the region of pixels that a region of tiles computes."""
        return region._replace(top=2 * region.top, bottom=min(2 * region.bottom, self.conv.counts[0]))

    def index(self, tile: ConvTile) -> tuple[slice, slice]:
        """Return the index of a tile in the result as (pixels, channels)."""
        return self.conv.pixels(self.pixel_region(tile.region)), tile.channels

    def passes(self, tile: ConvTile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        """Yield the passes that compute a tile.  Those between its input and its pixels are shared by equal tiles."""
        conv, (region, channels) = self.conv, tile
        pixels = self.pixel_region(region)
        slab = buffers.view("slab", self.slab_shape(region))
        key = region.images, region.height, channels.start
        if key not in buffers.shared:
            buffers.shared[key] = self._transformed_product(region, channels, slab, buffers)
        inner, computed = buffers.shared[key]
        yield from fill_phases(conv, conv.x.array(), pixels, slab)
        yield from inner
        image = unflattened(result, (region.images, pixels.height, *conv.counts[1:], computed.shape[-1]))
        for row, column in product(range(2), range(2)):
            part = image[:, row::2, column::2]  # pixels beyond an odd edge are dropped
            yield partial(np.copyto, part, computed[row, column, :, : part.shape[1], : part.shape[2]])

    def _transformed_product(
        self, region: Region, channels: slice, slab: Array, buffers: Buffers
    ) -> tuple[list[Pass], Array]:
        """Return the passes from a slab to the pixels, and the array (2, 2, images, rows, across, outs) of these."""
        shape, outs = (region.images, region.height, self.across), channels.stop - channels.start
        depth, width, rows = self.conv.channels, self.width, math.prod(shape)
        tiles = buffers.view("tiles", (4, 4, *shape, depth))
        products = buffers.view("products", (16, rows, outs))
        height, _ = blocks(rows, depth, width, self.blas_threads, self.tuning)
        # (positions, blocks of columns, blocks of rows, rows, …)
        operand = tiles.reshape(16, 1, rows // height, height, depth)
        result = products.reshape(16, rows // height, height, outs // width, width).transpose(0, 3, 1, 2, 4)
        filters = self.weight.array()[:, channels.start // width : channels.stop // width, None]
        pixels = buffers.view("tiles", (14, *shape, outs))
        passes: list[Pass] = [
            *transform_input(slab, buffers.view("products", self.lines_shape(region)), tiles),
            partial(np.matmul, operand, filters, result),
            *transform_output(products.reshape(4, 4, *shape, outs), pixels),
        ]
        return passes, pixels[10:].reshape(2, 2, *shape, outs)


def emit_winograd(context: LoweringContext, conv: Convolution, side: int) -> None:
    """Emit a step that transforms, multiplies and transforms back, tile by tile."""
    if kernels_apply(context.tuning, conv.x.dtype):
        emit_compiled_winograd(context, conv, side)
        return
    tuning, channels, outs = context.tuning, conv.channels, conv.outs
    down, across = (-(-count // 2) for count in conv.counts)
    count = max(tuning.winograd_least_tiles, tuning.winograd_elements // (16 * (channels + outs)))
    tiles = cut_tiles(conv, down, across, count, context.parallelism.product_jobs(conv.macs), tuning)
    rows = across * max(tile.region.images * tile.region.height for tile in tiles)
    columns = tiles[0].channels.stop
    blas_threads = context.parallelism.blas_threads
    _, width = blocks(rows, channels, columns, blas_threads, tuning)
    weight = context.constants.filled(
        (16, outs // width, channels, width),
        conv.x.dtype,
        lambda filters: transform_filters(conv.filters(), 2, tuning.winograd_filters, filters),
    )
    winograd = _Winograd(conv, weight, width, across, blas_threads, tuning)
    lines = max(math.prod(winograd.lines_shape(tile.region)) for tile in tiles)
    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=winograd.index,
        compute=winograd.passes,
        # two buffers take turns: lines, then products; tiles, then pixels
        buffers={
            "slab": max(math.prod(winograd.slab_shape(tile.region)) for tile in tiles),
            "products": max(lines, 16 * rows * columns),
            "tiles": rows * max(16 * channels, 14 * columns),
        },
        epilogue=conv.epilogue,
        products=True,
    )
