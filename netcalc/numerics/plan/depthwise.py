"""Convolution of each channel by itself: a sum of shifted images, each times a row of weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from netcalc.numerics.kernels import Array
from netcalc.numerics.plan.convolution import Convolving, Region, regions, shaped
from netcalc.numerics.plan.epilogue import Pass
from netcalc.numerics.plan.lowering import Lowering
from netcalc.numerics.plan.phases import phased, phased_shape
from netcalc.numerics.plan.step import Job, Scratch, Step

__all__ = ["emit_depthwise"]

Index: TypeAlias = tuple[Any, ...]

#: Elements of a strip of the result: it, its shifted products and its input fit the second-level cache.
_STRIP = 1 << 16


def emit_depthwise(low: Lowering, conv: Convolving) -> None:
    """A step for one filter a channel."""
    taps = list(product(*map(range, conv.kernel)))
    width = conv.counts[-1]

    # (taps, width × channels): a row of weights for a row of pixels
    def load() -> Array:
        return np.tile(conv.filters().reshape(conv.channels, len(taps)).T, (1, width))

    weight = low.made((len(taps), width * conv.channels), conv.x.dtype, load)
    pixels = max(1, _STRIP // conv.channels)
    tiles = regions(conv.batch, conv.counts[0], math.prod(conv.counts[1:]), pixels, low.threads)
    narrow = conv.out.dtype != conv.x.dtype
    slab = max(math.prod(phased_shape(conv, tile)) for tile in tiles)
    result = max(tile.images * tile.height for tile in tiles) * math.prod(conv.counts[1:]) * conv.channels
    own = len(conv.epilogue.scratch)
    sizes = [slab, result, *([result] if narrow else [])]
    scratch: list[Scratch] = [*conv.epilogue.scratch, *(((size,), conv.x.dtype) for size in sizes)]

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        tile = tiles[index]
        under = shaped(arrays[own], phased_shape(conv, tile))
        passes: list[Pass] = list(phased(conv, conv.x.array(), tile, under))
        place = tile.rows(conv)
        goal = conv.out_rows.array()[place]
        y = shaped(arrays[own + 2], goal.shape) if narrow else goal
        lines = y.reshape(tile.images, tile.height, *conv.counts[1:-1], width * conv.channels)
        shifted = shaped(arrays[own + 1], lines.shape)
        factors = weight.array()
        for position, tap in enumerate(taps):
            seen = _seen(conv, tile, under, tap).reshape(lines.shape)
            if position == 0:
                passes.append(partial(np.multiply, seen, factors[0], lines))
            else:
                passes.append(partial(np.multiply, seen, factors[position], shifted))
                passes.append(partial(np.add, lines, shifted, lines))
        return conv.epilogue.finish(passes, y, goal, place, slice(0, conv.outs), arrays)

    reads = (conv.x, weight, *conv.epilogue.reads)
    low.emit(Step(conv.node, reads, (conv.out,), len(tiles), bind, scratch))


def _seen(conv: Convolving, tile: Region, slab: Array, tap: Sequence[int]) -> Array:
    """What one tap takes from all windows."""
    offsets = [t * d for t, d in zip(tap, conv.dilation, strict=True)]
    heights = (tile.height, *conv.counts[1:-1])
    rows = tuple(
        slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offsets[:-1], heights, conv.stride[:-1], strict=True)
    )
    start, phase = divmod(offsets[-1], conv.stride[-1])
    index: Index = (slice(None), *rows, phase, slice(start, start + conv.counts[-1]))
    return slab[index]
