"""Geometry of a convolution, its tiles, and the padded slabs of input under them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region, cut_regions
from netcalc.engine.step import cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning


@dataclass(frozen=True, slots=True)
class Convolution:
    """Operands and attributes of a convolution.

    ``x`` is (batch, sizes…, channels), with any strides; ``out`` is (batch, counts…, out channels), the
    channels without gaps and the pixels evenly apart.
    """

    node: GraphNode
    x: Slot
    out: Slot
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    groups: int
    #: Computes the filters (out, in/groups, kernel…) in the type of the arithmetic.
    filters: Callable[[], Array]
    epilogue: Epilogue

    @property
    def batch(self) -> int:
        """Number of images."""
        return self.x.shape[0]

    @property
    def channels(self) -> int:
        """Input channels."""
        return self.x.shape[-1]

    @property
    def outs(self) -> int:
        """Output channels."""
        return self.out.shape[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Spatial sizes of the input."""
        return self.x.shape[1:-1]

    @property
    def counts(self) -> tuple[int, ...]:
        """Spatial sizes of the result."""
        return self.out.shape[1:-1]

    @property
    def padded(self) -> bool:
        """True if there is padding."""
        return any(map(any, self.pads))

    @property
    def out_rows(self) -> Slot:
        """The result as (pixels, channels)."""
        rows = self.out.reshaped((self.batch * math.prod(self.counts), self.outs))
        assert rows is not None
        return rows

    @property
    def macs(self) -> int:
        """Multiply-adds, those with padding included."""
        return self.out.elements * self.channels // self.groups * math.prod(self.kernel)

    def extent(self, count: int, axis: int = 0) -> int:
        """Return the size of the padded input under so many windows along an axis."""
        return (count - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1

    def pixels(self, region: Region) -> slice:
        """Return the range of the pixels of a region among all pixels of the result."""
        row = math.prod(self.counts[1:])
        start = (region.first * self.counts[0] + region.top) * row
        return slice(start, start + region.images * region.height * row)

    def whole_channels(self, region: Region) -> tuple[slice, slice]:
        """Return the index of a region in :attr:`out_rows`, with all channels."""
        return self.pixels(region), slice(0, self.outs)


class ConvTile(NamedTuple):
    """A region of the result, and a range of its channels."""

    region: Region
    channels: slice


def cut_tiles(conv: Convolution, height: int, width: int, pixels: int, jobs: int, tuning: Tuning) -> list[ConvTile]:
    """Cut the result into regions (see :func:`cut_regions`) for so many jobs.

    If the rows cannot be shared evenly, each job has a range of channels of all regions.
    """
    channels = slice(0, conv.outs)
    regions = cut_regions(conv.batch, height, width, pixels, jobs)
    loads = [sum(r.images * r.height for r in regions[start:end]) for start, end in cuts(len(regions), jobs)]
    uneven = max(loads) * jobs > tuning.uneven_share_ratio * sum(loads)
    if not uneven or conv.groups > 1 or conv.outs % (jobs * tuning.share_channels):
        return [ConvTile(region, channels) for region in regions]
    regions = cut_regions(conv.batch, height, width, pixels)
    return [ConvTile(region, slice(*ends)) for ends in cuts(conv.outs, jobs) for region in regions]


def covered_parts(conv: Convolution, region: Region, extents: Sequence[int]) -> tuple[list[slice], list[slice]]:
    """Return the part of a padded slab of these extents that the input covers, and the part of the input."""
    targets, origins = [], []
    for axis, extent in enumerate(extents):
        start = (region.top * conv.stride[0] if axis == 0 else 0) - conv.pads[axis][0]
        first = min(max(start, 0), conv.sizes[axis])
        end = max(first, min(start + extent, conv.sizes[axis]))
        targets.append(slice(first - start, end - start) if end > first else slice(0, 0))
        origins.append(slice(first, end))
    return targets, origins


def in_place(conv: Convolution) -> bool:
    """Return True if windows can be read from the input itself."""
    return not conv.padded and conv.x.strides[-1] == conv.x.dtype.itemsize


def input_part(conv: Convolution, x: Array, region: Region) -> Array:
    """Return the part of an input without padding that is under a region of the result."""
    start = region.top * conv.stride[0]
    return x[region.first : region.end, start : start + conv.extent(region.height)]


def slab_shape(conv: Convolution, images: int, height: int) -> tuple[int, ...]:
    """Return the shape of the padded input that so many rows of so many images read."""
    others = (conv.extent(count, axis) for axis, count in enumerate(conv.counts) if axis)
    return (images, conv.extent(height), *others, conv.channels)


def fill_slab(conv: Convolution, x: Array, region: Region, slab: Array) -> Iterator[Pass]:
    """Yield passes that fill a slab (images, rows…, channels) with the padded input under a region of the result."""
    targets, origins = covered_parts(conv, region, slab.shape[1:-1])
    yield from clear_around(slab, targets)
    yield partial(np.copyto, slab[(slice(None), *targets)], x[(slice(region.first, region.end), *origins)])


def clear_around(slab: Array, covered: Sequence[slice]) -> Iterator[Pass]:
    """Yield passes that set a slab (images, rows…, channels) to zero, except for the covered part of each axis."""
    if any(part.stop <= part.start for part in covered):
        yield partial(slab.fill, 0)
        return
    for axis, part in enumerate(covered, 1):
        for edge in (slice(0, part.start), slice(part.stop, slab.shape[axis])):
            if edge.stop > edge.start:
                yield partial(slab[(slice(None), *covered[: axis - 1], edge)].fill, 0)


def unflattened(rows: Array, shape: tuple[int, ...]) -> Array:
    """Return rows of pixels as an image, a view even if they are part of wider rows."""
    step, strides = rows.strides[0], [rows.strides[1]]
    for size in reversed(shape[1:-1]):
        strides.insert(0, step)
        step *= size
    return as_strided(rows, shape, (step, *strides))
