"""Windows of few channels as windows of long runs.

In a padded copy of the images, with channels last, the taps along the last axis are one run of numbers, which the
kernel in C takes as the channels of a window one tap wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.geometry import Convolution, clear_around, covered_parts, slab_shape
from netcalc.engine.lower.passes import Pass, Passes
from netcalc.engine.lower.regions import Region
from netcalc.engine.step import Buffers, Job, Step
from netcalc.engine.storage import Slot


def use_runs(conv: Convolution, most: int) -> bool:
    """Return True if there are fewer than ``most`` channels, and taps that lie together."""
    return conv.groups == 1 and conv.channels < most and conv.kernel[-1] > 1 and conv.dilation[-1] == 1


def with_runs(context: LoweringContext, conv: Convolution) -> Convolution:
    """Emit a padded copy of the images, and return the convolution of runs in it."""
    slab = context.layout.temporary(slab_shape(conv, conv.batch, conv.counts[0]), conv.x.dtype)
    _emit_copy(context, conv, slab)
    taps, (*lead, places, channels) = conv.kernel[-1], slab.shape

    def filters() -> Array:
        values = np.moveaxis(conv.filters(), -1, 1)
        return values.reshape(len(values), taps * channels, *values.shape[3:], 1)

    return replace(
        conv,
        x=replace(slab, shape=(*lead, places - taps + 1, taps * channels)),
        kernel=(*conv.kernel[:-1], 1),
        pads=((0, 0),) * len(conv.pads),
        filters=filters,
    )


def _emit_copy(context: LoweringContext, conv: Convolution, slab: Slot) -> None:
    """Emit a step that copies the images with their padding; each job has an image."""
    parts = [Region(first, first + 1, 0, conv.counts[0]) for first in range(conv.batch)]

    def bind(number: int, buffers: Buffers) -> Job:
        region = parts[number]
        return Passes(_passes(conv, region, slab.array()[region.first : region.end]))

    context.emit.step(Step(conv.node, (conv.x,), (slab,), len(parts), bind, what="copy"))


def _passes(conv: Convolution, region: Region, slab: Array) -> Iterator[Pass]:
    """Yield passes that copy channel by channel: rows of a plane are longer than the channels of a pixel."""
    targets, origins = covered_parts(conv, region, slab.shape[1:-1])
    yield from clear_around(slab, targets)
    target = slab[(slice(None), *targets)]
    origin = conv.x.array()[(slice(region.first, region.end), *origins)]
    for channel in range(conv.channels):
        yield partial(np.copyto, target[..., channel], origin[..., channel])
