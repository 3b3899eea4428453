"""Padded input with its places grouped by phase, so that places one stride apart are neighbors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.conv.geometry import Convolution, clear_around, covered_parts
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region

#: Index of a part of an image.
Index: TypeAlias = tuple[Any, ...]


def taps_by_phase(kernel: int, stride: int, dilation: int) -> dict[int, slice]:
    """Return the taps along an axis by the phase of the places that they take; they are equally spaced.

    >>> taps_by_phase(5, 2, 1)
    {0: slice(0, None, 2), 1: slice(1, None, 2)}
    """
    taps: dict[int, slice] = {}
    for tap in range(kernel):
        taps.setdefault(tap * dilation % stride, slice(tap, None, stride // math.gcd(stride, dilation)))
    return taps


def phase_parts(size: int, before: int, step: int, places: int) -> list[tuple[slice, slice]]:
    """Return, for each phase of a padded axis, the part that the input covers and the part of the input.

    Args:
        size: places of the input.
        before: places of padding before the input; negative if the axis begins within the input.
        step: number of phases.
        places: places of a phase.
    """
    parts = []
    for phase in range(step):
        start = max(0, -((phase - before) // step))  # the first place of the phase that the input covers
        first = start * step + phase - before
        count = max(0, min(len(range(first, size, step)), places - start))
        parts.append((slice(start, start + count), slice(first, first + max(0, (count - 1) * step + 1), step)))
    return parts


def phases_shape(conv: Convolution, region: Region) -> tuple[int, ...]:
    """Return the shape of a slab with columns by phase: (images, rows…, phases, columns of a phase, channels)."""
    step = conv.stride[-1]
    counts = (region.height, *conv.counts[1:])
    extents = [conv.extent(count, axis) for axis, count in enumerate(counts)]
    return (region.images, *extents[:-1], step, -(-extents[-1] // step), conv.channels)


def fill_phases(conv: Convolution, x: Array, region: Region, slab: Array) -> Iterator[Pass]:
    """Yield passes that fill such a slab with the padded input under a region of the result."""
    images = slice(region.first, region.end)
    targets, origins = covered_parts(conv, region, slab.shape[1:-3])
    columns = phase_parts(conv.sizes[-1], conv.pads[-1][0], conv.stride[-1], slab.shape[-2])
    for phase, (target, origin) in enumerate(columns):
        part = slab[..., phase, :, :]
        yield from clear_around(part, [*targets, target])
        place: Index = (slice(None), *targets, target)
        if part[place].size:
            yield partial(np.copyto, part[place], x[(images, *origins, origin)])
