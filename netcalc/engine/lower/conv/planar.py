"""Convolution with few channels in a group: windows are copied plane by plane.

Channel by channel, and phase by phase of the stride, the padded input is a plane, and a tap of all windows takes a run
of its pixels, which is much longer than the few channels of a pixel.  The copies are the rows of a matrix whose
transpose is multiplied with the filters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution, ConvTile, cut_tiles, unflattened
from netcalc.engine.lower.conv.phases import Index, phase_parts, taps_by_phase
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.engine.lower.tiling import emit_tiles
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning


def use_planar(conv: Convolution, tuning: Tuning) -> bool:
    """Return True if the runs of a window in rows of channels are short."""
    run = conv.channels // conv.groups * (conv.kernel[-1] if conv.groups == 1 else 1)
    return tuning.planar and math.prod(conv.kernel) > 1 and run < tuning.planar_run


def emit_planar(context: LoweringContext, conv: Convolution) -> None:
    """Emit a step that copies windows of some groups at a time and multiplies them, tile by tile."""
    tuning = context.tuning
    depth = conv.channels // conv.groups * math.prod(conv.kernel)
    pixels = max(tuning.im2col_least_rows, min(tuning.im2col_most_rows, tuning.im2col_elements // depth))
    jobs = context.parallelism.product_jobs(conv.macs)
    tiles = cut_tiles(conv, conv.counts[0], math.prod(conv.counts[1:]), pixels, jobs, tuning)

    def load() -> Array:
        return conv.filters().reshape(conv.groups, conv.outs // conv.groups, depth)

    weight = context.constants.derived((conv.groups, conv.outs // conv.groups, depth), conv.x.dtype, load)
    planar = _Planar(conv, weight, _phases(conv))
    rows = max(math.prod(planar.rows_shape(tile.region)) for tile in tiles)
    planar = replace(planar, groups=max(1, min(conv.groups, tuning.im2col_elements // (depth * rows))))
    emit_tiles(
        context,
        conv.node,
        reads=(conv.x, weight),
        out=conv.out_rows,
        tiles=tiles,
        index=lambda tile: (conv.pixels(tile.region), tile.channels),
        compute=planar.passes,
        buffers={
            "slab": max(math.prod(planar.slab_shape(tile.region)) for tile in tiles) + planar.gap,
            "windows": planar.groups * depth * rows,
            "products": rows * tiles[0].channels.stop if planar.gap else 0,
        },
        epilogue=conv.epilogue,
        products=True,
    )


def _phases(conv: Convolution) -> tuple[int, ...]:
    """Return the phases into which each axis of the planes is split.

    One if the input consists of planes, and too few taps share a place to pay for splitting them.
    """
    planes = conv.x.strides[-2] == conv.x.dtype.itemsize
    few = math.prod(conv.kernel) < 4 * math.prod(conv.stride)
    return (1,) * len(conv.kernel) if planes and few else conv.stride


@dataclass(frozen=True, slots=True)
class _Planar:
    """A convolution, its filters, the phases of each axis, and the number of groups that are copied at a time."""

    conv: Convolution
    weight: Slot
    phases: tuple[int, ...]
    groups: int = 1

    @property
    def gap(self) -> int:
        """Columns between the rows of a plane.

        Windows are copied there too, so that the runs of all rows are one; their products are dropped.
        """
        conv = self.conv
        if len(conv.kernel) == 1 or self.phases[-1] != conv.stride[-1]:
            return 0
        return conv.dilation[-1] * (conv.kernel[-1] - 1) // conv.stride[-1]

    def rows_shape(self, region: Region) -> tuple[int, ...]:
        """Return the shape of the windows of a region: (images, rows…, columns)."""
        shape = (region.images, region.height, *self.conv.counts[1:])
        return (*shape[:-1], shape[-1] + self.gap)

    def slab_shape(self, region: Region) -> tuple[int, ...]:
        """Return the shape of the padded input under a region: (images, channels, phases…, places of a phase…)."""
        conv = self.conv
        extents = [conv.extent(count, axis) for axis, count in enumerate((region.height, *conv.counts[1:]))]
        places = [-(-extent // phases) for extent, phases in zip(extents, self.phases, strict=True)]
        return (region.images, conv.channels, *self.phases, *places)

    def passes(self, tile: ConvTile, result: Array, buffers: Buffers) -> Iterator[Pass]:
        """Yield the passes that compute a tile."""
        conv, (region, channels) = self.conv, tile
        slab = buffers.view("slab", self.slab_shape(region))
        if conv.padded or self.gap or math.prod(self.phases) > 1:
            yield partial(buffers["slab"][: slab.size + self.gap].fill, 0)
        yield from self._fill(region, slab)
        shape = (*self.rows_shape(region), result.shape[-1])
        products = buffers.view("products", shape) if self.gap else result
        filters = self.weight.array()[:, channels] if conv.groups == 1 else self.weight.array()
        # (groups, pixels, channels of a group)
        sums = products.reshape(-1, conv.groups, filters.shape[1]).swapaxes(0, 1)
        for first in range(0, conv.groups, self.groups):
            end = min(first + self.groups, conv.groups)
            rows = buffers.view("windows", (end - first, filters.shape[2], math.prod(shape[:-1])))
            yield from self._copy(slab, region, first, rows)
            yield partial(np.matmul, rows.swapaxes(1, 2), filters[first:end].swapaxes(1, 2), sums[first:end])
        if self.gap:
            image = unflattened(result, (*shape[:-2], conv.counts[-1], shape[-1]))
            yield partial(np.copyto, image, products[..., : conv.counts[-1], :])

    def _fill(self, region: Region, slab: Array) -> Iterator[Pass]:
        """Yield passes that copy the input under a region."""
        conv, axes = self.conv, len(self.conv.kernel)
        x = np.moveaxis(conv.x.array()[region.first : region.end], -1, 1)
        before = [pad for pad, _ in conv.pads]
        before[0] -= region.top * conv.stride[0]
        parts = [
            phase_parts(size, pad, step, places)
            for size, pad, step, places in zip(conv.sizes, before, self.phases, slab.shape[-axes:], strict=True)
        ]
        taken = [taps_by_phase(*geometry) for geometry in zip(conv.kernel, self.phases, conv.dilation, strict=True)]
        for phases in product(*taken):
            places = [parts[axis][phase] for axis, phase in enumerate(phases)]
            covered: Index = (*phases, *(target for target, _ in places))
            target = slab[(slice(None), slice(None), *covered)]
            if target.size:
                origin = x[(slice(None), slice(None), *(origin for _, origin in places))]
                yield partial(np.copyto, target, origin)

    def _copy(self, slab: Array, region: Region, first: int, rows: Array) -> Iterator[Pass]:
        """Yield passes that copy the windows of some groups: the taps of each phase together."""
        conv, axes, share = self.conv, len(self.conv.kernel), self.conv.channels // self.conv.groups
        image, channel, *steps = (*slab.strides[:2], *slab.strides[-axes:])
        shape = self.rows_shape(region)
        target = rows.reshape(len(rows), share, *conv.kernel, *shape)
        taken = [taps_by_phase(*axis) for axis in zip(conv.kernel, self.phases, conv.dilation, strict=True)]
        for every in product(*(phases.items() for phases in taken)):
            taps = tuple(taps for _, taps in every)
            corner = [
                taps.start * dilation // phases
                for taps, phases, dilation in zip(taps, self.phases, conv.dilation, strict=True)
            ]
            phases_and_corner: Index = (*(phase for phase, _ in every), *(slice(start, None) for start in corner))
            plane = slab[:, first * share :][(slice(None), slice(None), *phases_and_corner)]
            copy = target[(slice(None), slice(None), *taps)]
            apart = [
                taps.step * dilation // phases * step
                for taps, phases, dilation, step in zip(taps, self.phases, conv.dilation, steps, strict=True)
            ]
            moves = [
                stride // phases * step for stride, phases, step in zip(conv.stride, self.phases, steps, strict=True)
            ]
            strides = (share * channel, channel, *apart, image, *moves)
            yield partial(np.copyto, copy, as_strided(plane, copy.shape, strides, writeable=False))
