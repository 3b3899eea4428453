"""Convolution of each channel by itself: a sum over shifted images, each times a row of weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from netcalc.engine.lower.context import Lowering
from netcalc.engine.lower.conv.geometry import Convolving, Region, regions, shaped
from netcalc.engine.lower.conv.phases import phased, phased_shape
from netcalc.engine.lower.epilogue import Pass
from netcalc.engine.step import Job, Scratch, Step
from netcalc.numerics.kernels import Array

__all__ = ["emit_depthwise"]


def emit_depthwise(low: Lowering, conv: Convolving) -> None:
    """A step for one filter a channel."""
    width = conv.counts[-1]

    # (kernel…, width × channels): a row of weights for a row of pixels
    def load() -> Array:
        return np.tile(np.moveaxis(conv.filters()[:, 0], 0, -1), width)

    weight = low.made((*conv.kernel, width * conv.channels), conv.x.dtype, load)
    pixels = max(1, low.tuning.strip_elements // conv.channels)
    threads = low.parallelism.pass_jobs(conv.out.elements)
    tiles = regions(conv.batch, conv.counts[0], math.prod(conv.counts[1:]), pixels, threads)
    narrow = conv.out.dtype != conv.x.dtype
    slab = max(math.prod(phased_shape(conv, tile)) for tile in tiles)
    result = max(tile.images * tile.height for tile in tiles) * math.prod(conv.counts[1:]) * conv.channels
    own = len(conv.epilogue.scratch)
    sizes = [slab, result if len(_phases(conv)) > 1 else 0, *([result] if narrow else [])]
    scratch: list[Scratch] = [*conv.epilogue.scratch, *(((size,), conv.x.dtype) for size in sizes)]
    letters = "abc"[: len(conv.kernel)], "ij"[: len(conv.kernel) - 1]
    sums = "{0}n{1}x,{0}x->n{1}x".format(*letters)

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        tile = tiles[index]
        under = shaped(arrays[own], phased_shape(conv, tile))
        passes: list[Pass] = list(phased(conv, conv.x.array(), tile, under))
        place = tile.rows(conv)
        goal = conv.out_rows.array()[place]
        y = shaped(arrays[own + 2], goal.shape) if narrow else goal
        lines = y.reshape(tile.images, tile.height, *conv.counts[1:-1], width * conv.channels)
        for number, (taps, seen) in enumerate(_seen(conv, tile, under)):
            out = shaped(arrays[own + 1], lines.shape) if number else lines
            passes.append(partial(np.einsum, sums, seen, weight.array()[..., taps, :], out=out))
            if number:
                passes.append(partial(np.add, lines, out, lines))
        return conv.epilogue.finish(passes, y, goal, place, slice(0, conv.outs), arrays)

    reads = (conv.x, weight, *conv.epilogue.reads)
    low.emit(Step(conv.node, reads, (conv.out,), len(tiles), bind, scratch))


def _phases(conv: Convolving) -> dict[int, slice]:
    """The taps along the last axis that take columns of each phase, which follow each other in equal steps."""
    step, dilation = conv.stride[-1], conv.dilation[-1]
    found: dict[int, slice] = {}
    for tap in range(conv.kernel[-1]):
        found.setdefault(tap * dilation % step, slice(tap, None, step // math.gcd(step, dilation)))
    return found


def _seen(conv: Convolving, tile: Region, slab: Array) -> Iterator[tuple[slice, Array]]:
    """For each phase its taps, and a view (kernel…, images, heights…, width × channels) of what they take."""
    *downward, columns = zip(conv.dilation, conv.stride, (*slab.strides[1:-3], slab.strides[-2]), strict=True)
    dilation, stride, step = columns
    for phase, taps in _phases(conv).items():
        first = slab[..., phase, taps.start * dilation // stride :, :]
        count = len(range(conv.kernel[-1])[taps])
        shape = (
            *conv.kernel[:-1],
            count,
            tile.images,
            tile.height,
            *conv.counts[1:-1],
            conv.counts[-1] * conv.channels,
        )
        strides = (
            *(d * s for d, _, s in downward),
            dilation // math.gcd(stride, dilation) * step,
            slab.strides[0],
            *(n * s for _, n, s in downward),
            slab.itemsize,
        )
        yield taps, as_strided(first, shape, strides, writeable=False)
