"""Depthwise convolution: a sum over shifted images, each times a row of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.compiled_windows import emit_compiled_depthwise, use_compiled_depthwise
from netcalc.engine.lower.conv.geometry import Convolution, fill_slab, in_place, input_part, slab_shape
from netcalc.engine.lower.conv.phases import fill_phases, phases_shape, taps_by_phase
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning


def emit_depthwise(context: LoweringContext, conv: Convolution) -> None:
    """Emit a convolution with one filter for each channel."""
    if use_compiled_depthwise(conv, context.tuning):
        emit_compiled_depthwise(context, conv)
        return
    tuning, width = context.tuning, conv.counts[-1]
    few = conv.channels < tuning.depthwise_channels_per_tap * math.prod(conv.kernel)
    by_phase = conv.stride[-1] > 1 and few and width > 1
    run = _pixels_of_run(conv, by_phase, tuning)

    # (kernel…, pixels × channels): a row of weights for a run of pixels
    def load() -> Array:
        return np.tile(np.moveaxis(conv.filters()[:, 0], 0, -1), run)

    weight = context.constants.derived((*conv.kernel, run * conv.channels), conv.x.dtype, load)
    jobs = context.parallelism.pass_jobs(conv.out.elements)
    tiles = cut_regions(conv.batch, conv.counts[0], math.prod(conv.counts[1:]), _tile_pixels(conv, tuning), jobs)
    depthwise = _Depthwise(conv, weight, run, by_phase)
    tile_pixels = max(tile.images * tile.height for tile in tiles) * math.prod(conv.counts[1:])
    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=conv.whole_channels,
        compute=depthwise.passes,
        buffers={
            "slab": max(math.prod(depthwise.slab_shape(tile)) for tile in tiles),
            "partial sums": tile_pixels * conv.channels if depthwise.partial_sums else 0,
        },
        epilogue=conv.epilogue,
    )


def _pixels_of_run(conv: Convolution, by_phase: bool, tuning: Tuning) -> int:
    """Return the number of pixels of a row that one inner loop takes: their channels must follow each other."""
    width = conv.counts[-1]
    if (conv.stride[-1] > 1 and not by_phase) or (in_place(conv) and not by_phase and not _gapless(conv)):
        return 1
    elements = min(tuning.depthwise_run, tuning.depthwise_weights // math.prod(conv.kernel))
    usual = max(1, min(width, elements // conv.channels))
    for run in range(usual, min(2 * usual, width + 1)):
        for other in (run, -(-usual * usual // run)):
            if width % other == 0:
                return other
    return -(-width // -(-width // usual))


def _gapless(conv: Convolution) -> bool:
    return conv.x.strides[-2] == conv.channels * conv.x.dtype.itemsize


def _tile_pixels(conv: Convolution, tuning: Tuning) -> int:
    """Return the pixels of a tile that fits the cache with the slab under it."""
    row = math.prod(conv.counts[1:]) * conv.channels
    slab_row = math.prod(conv.extent(count, axis) for axis, count in enumerate(conv.counts) if axis) * conv.channels
    halo = (conv.extent(1) - conv.stride[0]) * slab_row
    rows = (tuning.depthwise_elements - halo) // (row + conv.stride[0] * slab_row)
    return max(1, rows) * math.prod(conv.counts[1:])


@dataclass(frozen=True, slots=True)
class _Depthwise:
    """A depthwise convolution, its weights for a run of pixels, and whether its columns are grouped by phase."""

    conv: Convolution
    weight: Slot
    run: int
    by_phase: bool

    @property
    def partial_sums(self) -> bool:
        """True if the taps are summed in several parts."""
        return len(self._taps_by_phase()) > 1

    def slab_shape(self, region: Region) -> tuple[int, ...]:
        """Return the shape of the slab under a region; empty if the input is read in place."""
        if self.by_phase:
            return phases_shape(self.conv, region)
        return (0,) if in_place(self.conv) else slab_shape(self.conv, region.images, region.height)

    def passes(self, tile: Region, result: Array, buffers: Buffers) -> Iterator[Pass]:
        """Yield the passes that compute a tile."""
        conv, x = self.conv, self.conv.x.array()
        if self.by_phase:
            slab = buffers.view("slab", self.slab_shape(tile))
            yield from fill_phases(conv, x, tile, slab)
        elif in_place(conv):
            slab = input_part(conv, x, tile)
        else:
            slab = buffers.view("slab", self.slab_shape(tile))
            yield from fill_slab(conv, x, tile, slab)
        image = result.reshape(tile.images, tile.height, *conv.counts[1:], conv.channels)
        for number, (phase, taps) in enumerate(self._taps_by_phase().items()):
            sums = buffers.view("partial sums", image.shape) if number else image
            yield from self._sums(tile, slab, phase, taps, sums)
            if number:
                yield partial(np.add, image, sums, image)

    def _taps_by_phase(self) -> dict[int, slice]:
        """Return the taps along the last axis by the phase of the columns that they take."""
        conv = self.conv
        if not self.by_phase:
            return {0: slice(0, None, 1)}
        return taps_by_phase(conv.kernel[-1], conv.stride[-1], conv.dilation[-1])

    def _sums(self, tile: Region, slab: Array, phase: int, taps: slice, sums: Array) -> Iterator[Pass]:
        """Yield passes that sum these taps: over all runs of a row that have the full length, then over the last."""
        conv, width = self.conv, self.conv.counts[-1]
        step, dilation, spacing = conv.stride[-1], conv.dilation[-1], slab.strides[-2]
        apart = dilation * spacing
        if self.by_phase:
            slab = slab[..., phase, taps.start * dilation // step :, :]
            step, apart = 1, dilation // math.gcd(conv.stride[-1], dilation) * spacing
        downward = list(zip(conv.dilation[:-1], conv.stride[:-1], slab.strides[1:-2], strict=True))
        weight = self.weight.array()[..., taps, :]
        letters, axes = "abc"[: len(conv.kernel)], "ij"[: len(downward)]
        subscripts = f"{letters}n{axes}wx,{letters}x->n{axes}wx"
        split = width // self.run * self.run
        for first, end, run in ((0, split, self.run), (split, width, width - split)):
            if first == end:
                continue
            count = (end - first) // run
            shape = (*weight.shape[:-1], tile.images, tile.height, *conv.counts[1:-1], count, run * conv.channels)
            strides = (
                *(d * s for d, _, s in downward),
                apart,
                slab.strides[0],
                *(n * s for _, n, s in downward),
                run * step * spacing,
                slab.itemsize,
            )
            shifted = as_strided(slab[..., first * step :, :], shape, strides, writeable=False)
            part = sums[..., first:end, :]
            lead = part.shape[:-2]
            out = as_strided(
                part, (*lead, count, shape[-1]), (*part.strides[:-2], run * part.strides[-2], part.itemsize)
            )
            yield partial(np.einsum, subscripts, shifted, weight[..., : shape[-1]], out=out)
