"""Padded input with its columns grouped by phase, so that columns one stride apart are contiguous."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.lower.conv.geometry import Convolution, clear_around, covered_parts
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.numerics.kernels import Array

__all__ = ["fill_phases", "phases_shape"]

Index: TypeAlias = tuple[Any, ...]


def phases_shape(conv: Convolution, region: Region) -> tuple[int, ...]:
    """Return the shape of a slab: (images, rows…, phases, columns of a phase, channels)."""
    step = conv.stride[-1]
    counts = (region.height, *conv.counts[1:])
    extents = [conv.extent(count, axis) for axis, count in enumerate(counts)]
    return (region.images, *extents[:-1], step, -(-extents[-1] // step), conv.channels)


def fill_phases(conv: Convolution, x: Array, region: Region, slab: Array) -> Iterator[Pass]:
    """Yield passes that fill such a slab with the padded input under a region of the result."""
    images = slice(region.first, region.end)
    targets, origins = covered_parts(conv, region, slab.shape[1:-3])
    step, columns, before = conv.stride[-1], conv.sizes[-1], conv.pads[-1][0]
    for phase in range(step):
        first = (phase - before) % step  # the first column of the input in this phase
        start = (first + before) // step
        count = min(len(range(first, columns, step)), slab.shape[-2] - start)
        count = max(count, 0)
        yield from clear_around(slab[..., phase, :, :], [*targets, slice(start, start + count)])
        if count:
            place: Index = (slice(None), *targets, phase, slice(start, start + count))
            origin: Index = (images, *origins, slice(first, first + (count - 1) * step + 1, step))
            yield partial(np.copyto, slab[place], x[origin])
