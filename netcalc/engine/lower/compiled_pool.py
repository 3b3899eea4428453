"""Pooling by the compiled kernel, which reads all elements of a window at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.pool_windows import AxisWindows, Pooling
from netcalc.engine.lower.regions import Region
from netcalc.engine.native.library import blocks
from netcalc.engine.native.windows import MOST_AXES, Geometry, pool
from netcalc.engine.step import Buffers
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning


def use_compiled_pool(images: Slot, axes: Sequence[AxisWindows], tuning: Tuning) -> bool:
    """Return True if there is a kernel, and it takes these images (batch, sizes…, channels)."""
    size = blocks()
    fits = size is not None and images.shape[-1] >= size.lanes
    return tuning.compiled and fits and images.dtype == np.float32 and len(axes) <= MOST_AXES


def compiled_passes(pooling: Pooling, x: Array, result: Array, tile: Region, buffers: Buffers) -> Iterator[Pass]:
    """Yield passes that compute the rows of a region of the result from its images."""
    _, _, kernels, strides, pads, dilations = zip(*pooling.axes, strict=True)
    geometry = Geometry(kernels, strides, dilations, pads)
    yield pool(x, result, tile.top, geometry, largest=pooling.join is np.maximum)
    yield from pooling.factor_passes(result, tile)
