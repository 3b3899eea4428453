"""Convolution with few channels in a group: windows are copied plane by plane.

Channel by channel the padded input is a plane, and a tap of a window takes a run of its pixels, which is longer than
the few channels of a pixel.  The copies are the rows of a matrix whose transpose is multiplied with the filters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import (
    Convolution,
    ConvTile,
    cut_tiles,
    fill_slab,
    input_part,
    slab_shape,
    unflattened,
)
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["emit_planar", "use_planar"]


def use_planar(conv: Convolution, tuning: Tuning) -> bool:
    """Return True if the runs of a window in rows of channels are short."""
    run = conv.channels // conv.groups * (conv.kernel[-1] if conv.groups == 1 else 1)
    return tuning.planar and math.prod(conv.kernel) > 1 and run < tuning.planar_run


def emit_planar(context: LoweringContext, conv: Convolution) -> None:
    """Emit a step that copies windows of some groups at a time and multiplies them, tile by tile."""
    tuning, share = context.tuning, conv.channels // conv.groups
    depth = share * math.prod(conv.kernel)
    in_place = not conv.padded and conv.x.strides[-2] == conv.x.dtype.itemsize
    # the runs of all rows are one if they include the columns between rows, whose products are dropped
    runs = len(conv.kernel) > 1 and conv.stride[-1] == 1 and not in_place
    across = conv.extent(conv.counts[-1], -1) if runs else conv.counts[-1]
    width = math.prod(conv.counts[1:])
    pixels = max(tuning.im2col_least_rows, min(tuning.im2col_most_rows, tuning.im2col_elements // depth))
    tiles = cut_tiles(conv, conv.counts[0], width, pixels, context.parallelism.product_jobs(conv.macs), tuning)
    images, height = (max(getattr(tile.region, name) for tile in tiles) for name in ("images", "height"))
    rows = images * height * (math.prod(conv.counts[1:-1]) * across if runs else width)
    groups = max(1, min(conv.groups, tuning.im2col_elements // (depth * rows)))

    def load() -> Array:
        return conv.filters().reshape(conv.groups, conv.outs // conv.groups, depth)

    weight = context.constants.derived((conv.groups, conv.outs // conv.groups, depth), conv.x.dtype, load)
    planar = _Planar(conv, weight, groups, across, in_place)
    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=lambda tile: (conv.pixels(tile.region), tile.channels),
        compute=planar.passes,
        dtype=conv.x.dtype,
        buffers={
            "slab": 0 if in_place else math.prod(slab_shape(conv, images, height)) + planar.beyond,
            "windows": groups * depth * rows,
            "products": rows * tiles[0].channels.stop if runs else 0,
        },
        epilogue=conv.epilogue,
        products=True,
    )


@dataclass(frozen=True, slots=True)
class _Planar:
    """A convolution, its filters, the groups that are copied at a time, and the columns of a row of its windows."""

    conv: Convolution
    weight: Slot
    groups: int
    across: int
    in_place: bool

    @property
    def beyond(self) -> int:
        """Elements beyond the slab that the windows of dropped columns take."""
        return self.across - self.conv.counts[-1]

    def passes(self, tile: ConvTile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        """Yield the passes that compute a tile."""
        conv, (region, channels) = self.conv, tile
        x = conv.x.array()
        if self.in_place:
            planes = np.moveaxis(input_part(conv, x, region), -1, 1)
        else:
            shape = slab_shape(conv, region.images, region.height)
            shape = (shape[0], shape[-1], *shape[1:-1])
            planes = buffers.view("slab", shape)
            yield from fill_slab(conv, x, region, np.moveaxis(planes, 1, -1))
            if self.beyond:
                yield partial(buffers["slab"][planes.size : planes.size + self.beyond].fill, 0)
        shape = (region.images, region.height, *conv.counts[1:-1], self.across, result.shape[-1])
        products = buffers.view("products", shape) if self.beyond else result
        filters = self.weight.array()[:, channels] if conv.groups == 1 else self.weight.array()
        # (groups, pixels, channels of a group)
        sums = products.reshape(-1, conv.groups, filters.shape[1]).swapaxes(0, 1)
        for first in range(0, conv.groups, self.groups):
            end = min(first + self.groups, conv.groups)
            windows = self._windows(planes, region, first, end)
            copy = buffers.view("windows", windows.shape)
            yield partial(np.copyto, copy, windows)
            rows = copy.reshape(end - first, filters.shape[-1], -1).swapaxes(1, 2)
            yield partial(np.matmul, rows, filters[first:end].swapaxes(1, 2), sums[first:end])
        if self.beyond:
            image = unflattened(result, (*shape[:-2], conv.counts[-1], shape[-1]))
            yield partial(np.copyto, image, products[..., : conv.counts[-1], :])

    def _windows(self, planes: Array, region: Region, first: int, end: int) -> Array:
        """Return a view (groups, channels of a group, kernel…, images, rows…, columns) of the windows of some groups."""
        conv, share = self.conv, self.conv.channels // self.conv.groups
        planes = planes[:, first * share :]
        image, channel, *steps = planes.strides
        shape = (end - first, share, *conv.kernel, region.images, region.height, *conv.counts[1:])
        strides = (
            share * channel,
            channel,
            *(n * d for n, d in zip(steps, conv.dilation, strict=True)),
            image,
            *(n * s for n, s in zip(steps, conv.stride, strict=True)),
        )
        if self.beyond:
            shape = (*shape[:-1], self.across)
        return as_strided(planes, shape, strides, writeable=False)
