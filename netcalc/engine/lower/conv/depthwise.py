"""Depthwise convolution: a sum over shifted images, each times a row of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution
from netcalc.engine.lower.conv.phases import fill_phases, phases_shape
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.numerics.kernels import Array

__all__ = ["emit_depthwise"]


def emit_depthwise(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with one filter for each channel."""
    width = conv.counts[-1]

    # (kernel…, width × channels): a row of weights for a row of pixels
    def load() -> Array:
        return np.tile(np.moveaxis(conv.filters()[:, 0], 0, -1), width)

    weight = context.constants.derived((*conv.kernel, width * conv.channels), conv.x.dtype, load)
    pixels = max(1, context.tuning.strip_elements // conv.channels)
    jobs = context.parallelism.pass_jobs(conv.out.elements)
    tiles = cut_regions(conv.batch, conv.counts[0], math.prod(conv.counts[1:]), pixels, jobs)
    tile_pixels = max(tile.images * tile.height for tile in tiles) * math.prod(conv.counts[1:])
    taps, axes = "abc"[: len(conv.kernel)], "ij"[: len(conv.kernel) - 1]
    subscripts = f"{taps}n{axes}x,{taps}x->n{axes}x"

    def compute(tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        slab = buffers.view("slab", phases_shape(conv, tile))
        yield from fill_phases(conv, conv.x.array(), tile, slab)
        rows = result.reshape(tile.images, tile.height, *conv.counts[1:-1], width * conv.channels)
        for number, (taps, shifted) in enumerate(_shifted_images(conv, tile, slab)):
            out = buffers.view("partial sums", rows.shape) if number else rows
            yield partial(np.einsum, subscripts, shifted, weight.array()[..., taps, :], out=out)
            if number:
                yield partial(np.add, rows, out, rows)

    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=conv.whole_channels,
        compute=compute,
        dtype=conv.x.dtype,
        buffers={
            "slab": max(math.prod(phases_shape(conv, tile)) for tile in tiles),
            "partial sums": tile_pixels * conv.channels if len(_taps_by_phase(conv)) > 1 else 0,
        },
        epilogue=conv.epilogue,
    )


def _taps_by_phase(conv: Convolution) -> dict[int, slice]:
    """Return the taps along the last axis by the phase of the columns that they take; they are equally spaced."""
    step, dilation = conv.stride[-1], conv.dilation[-1]
    taps: dict[int, slice] = {}
    for tap in range(conv.kernel[-1]):
        taps.setdefault(tap * dilation % step, slice(tap, None, step // math.gcd(step, dilation)))
    return taps


def _shifted_images(conv: Convolution, tile: Region, slab: Array) -> Iterator[tuple[slice, Array]]:
    """Yield the taps of each phase, and a view (kernel…, images, heights…, width × channels) of their columns."""
    *downward, columns = zip(conv.dilation, conv.stride, (*slab.strides[1:-3], slab.strides[-2]), strict=True)
    dilation, stride, step = columns
    row = conv.counts[-1] * conv.channels
    for phase, taps in _taps_by_phase(conv).items():
        first = slab[..., phase, taps.start * dilation // stride :, :]
        count = len(range(conv.kernel[-1])[taps])
        shape = (*conv.kernel[:-1], count, tile.images, tile.height, *conv.counts[1:-1], row)
        strides = (
            *(d * s for d, _, s in downward),
            dilation // math.gcd(stride, dilation) * step,
            slab.strides[0],
            *(n * s for _, n, s in downward),
            slab.itemsize,
        )
        yield taps, as_strided(first, shape, strides, writeable=False)
