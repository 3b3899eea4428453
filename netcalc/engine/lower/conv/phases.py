"""Padded input whose columns lie by phase: those that a stride takes one after the other are a run of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.lower.conv.geometry import Convolving, Region, covered
from netcalc.engine.lower.epilogue import Pass
from netcalc.numerics.kernels import Array

__all__ = ["phased", "phased_shape"]

Index: TypeAlias = tuple[Any, ...]


def phased_shape(conv: Convolving, tile: Region) -> tuple[int, ...]:
    """(images, rows…, phases, columns of a phase, channels): columns that a stride takes together lie together."""
    step = conv.stride[-1]
    reach = [conv.reach(tile.height if axis == 0 else count, axis) for axis, count in enumerate(conv.counts)]
    return (tile.images, *reach[:-1], step, -(-reach[-1] // step), conv.channels)


def phased(conv: Convolving, x: Array, tile: Region, slab: Array) -> Iterator[Pass]:
    """Passes that fill such a slab with the padded input under a region of the result."""
    if any(map(any, conv.pads)):
        yield partial(slab.fill, 0)
    images = slice(tile.first, tile.end)
    places, sources = covered(conv, tile, slab.shape[1:-3])
    step, columns, before = conv.stride[-1], conv.sizes[-1], conv.pads[-1][0]
    for phase in range(step):
        first = (phase - before) % step  # the first column of the input that falls into this phase
        start = (first + before) // step
        count = min(len(range(first, columns, step)), slab.shape[-2] - start)
        if count > 0:
            place: Index = (slice(None), *places, phase, slice(start, start + count))
            target = slab[place]
            yield partial(np.copyto, target, x[(images, *sources, slice(first, first + (count - 1) * step + 1, step))])
