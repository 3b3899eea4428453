"""A convolution as its lowerings see it, and the padded slabs of its input that they work on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.epilogue import Epilogue, Pass
from netcalc.engine.step import cuts
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["Convolving", "Piece", "Region", "covered", "filled", "pieces", "regions", "shaped"]


@dataclass(frozen=True, slots=True)
class Convolving:
    """``x`` is (batch, sizes…, channels), in whatever strides; ``out`` is (batch, counts…, out channels), dense."""

    node: Node
    x: Slot
    out: Slot
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    groups: int
    #: The filters (out, in/groups, kernel…), with what is folded into them, in the type of the arithmetic.
    filters: Callable[[], Array]
    epilogue: Epilogue

    @property
    def batch(self) -> int:
        return self.x.shape[0]

    @property
    def channels(self) -> int:
        return self.x.shape[-1]

    @property
    def outs(self) -> int:
        return self.out.shape[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.x.shape[1:-1]

    @property
    def counts(self) -> tuple[int, ...]:
        return self.out.shape[1:-1]

    @property
    def out_rows(self) -> Slot:
        """The result as (pixels, channels)."""
        rows = self.out.reshaped((self.batch * math.prod(self.counts), self.outs))
        assert rows is not None
        return rows

    @property
    def macs(self) -> int:
        """Multiply-adds, those of the padding among them."""
        return self.out.elements * self.channels // self.groups * math.prod(self.kernel)

    def reach(self, count: int, axis: int = 0) -> int:
        """How many places of the padded input so many windows along an axis cover."""
        return (count - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1


class Piece(NamedTuple):
    """What a job does of the result: a region of it, and of that some of the channels."""

    region: Region
    channels: slice


class Region(NamedTuple):
    """Images ``first`` to ``end``, and of each the rows ``top`` to ``bottom`` of the result."""

    first: int
    end: int
    top: int
    bottom: int

    @property
    def images(self) -> int:
        return self.end - self.first

    @property
    def height(self) -> int:
        return self.bottom - self.top

    def rows(self, conv: Convolving) -> slice:
        """Its pixels among those of the whole result."""
        wide = math.prod(conv.counts[1:])
        start = (self.first * conv.counts[0] + self.top) * wide
        return slice(start, start + self.images * self.height * wide)


def regions(batch: int, height: int, width: int, pixels: int, threads: int = 1) -> list[Region]:
    """The whole in regions of about so many pixels, whole images or parts of one; a multiple of ``threads`` of them.

    There may be fewer where that would leave very little in each.
    """
    image = height * width
    if image * 2 <= pixels and batch > 1:
        pieces = -(-batch * image // pixels)
        pieces = min(batch, -(-pieces // threads) * threads)
        return [Region(first, end, 0, height) for first, end in cuts(batch, pieces)]
    pieces = max(1, -(-image // pixels))
    if batch % threads and (batch * pieces) % threads:
        pieces = -(-pieces // threads) * threads
    return [Region(n, n + 1, top, bottom) for n in range(batch) for top, bottom in cuts(height, pieces)]


def pieces(conv: Convolving, height: int, width: int, pixels: int, shares: int, tuning: Tuning) -> list[Piece]:
    """The result in regions (see :func:`regions`), for as many workers as there are ``shares``.

    Where the rows do not come out even, each worker gets some of the channels of every region.
    """
    whole = slice(0, conv.outs)
    found = regions(conv.batch, height, width, pixels, shares)
    loads = [sum(r.images * r.height for r in found[start:end]) for start, end in cuts(len(found), shares)]
    uneven = max(loads) * shares > tuning.uneven_share_ratio * sum(loads)
    if not uneven or conv.groups > 1 or conv.outs % (shares * tuning.share_channels):
        return [Piece(region, whole) for region in found]
    found = regions(conv.batch, height, width, pixels)
    return [Piece(region, slice(*ends)) for ends in cuts(conv.outs, shares) for region in found]


def covered(conv: Convolving, region: Region, extents: Sequence[int]) -> tuple[list[slice], list[slice]]:
    """Which part of a padded slab of these extents the input covers, and which part of the input does it."""
    places, sources = [], []
    for axis, extent in enumerate(extents):
        start = (region.top * conv.stride[0] if axis == 0 else 0) - conv.pads[axis][0]
        low = min(max(start, 0), conv.sizes[axis])
        high = max(low, min(start + extent, conv.sizes[axis]))
        places.append(slice(low - start, high - start) if high > low else slice(0, 0))
        sources.append(slice(low, high))
    return places, sources


def filled(conv: Convolving, x: Array, region: Region, slab: Array) -> Iterator[Pass]:
    """Passes that fill a slab (images, rows…, channels) with the padded input under a region of the result."""
    if any(map(any, conv.pads)):
        yield partial(slab.fill, 0)
    places, sources = covered(conv, region, slab.shape[1:-1])
    yield partial(np.copyto, slab[(slice(None), *places)], x[(slice(region.first, region.end), *sources)])


def shaped(scratch: Array, shape: Sequence[int]) -> Array:
    """The first elements of a flat scratch array in this shape."""
    return scratch[: math.prod(shape)].reshape(shape)
