"""Pooling one axis after the other: rows of pixels are joined first, columns last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.passes import Pass
from netcalc.engine.lower.regions import Region
from netcalc.engine.step import Buffers

#: Scratch buffer of columns rearranged by phase.
_PHASES = "phases"


class AxisWindows(NamedTuple):
    """Windows along one axis."""

    size: int
    windows: int
    kernel: int
    stride: int
    pad: int
    dilation: int

    def position(self, window: int, tap: int = 0) -> int:
        """Return the position of a tap of a window; outside the axis in the padding."""
        return window * self.stride - self.pad + tap * self.dilation

    def covered(self, first: int, end: int) -> slice:
        """Return the part of the axis under a range of windows."""
        start = min(max(self.position(first), 0), self.size)
        return slice(start, max(start, min(self.position(end - 1, self.kernel - 1) + 1, self.size)))

    def groups(self, first: int, end: int) -> Iterator[tuple[int, int, range]]:
        """Yield ranges of windows, (first, end), with the taps that all of them have outside the padding."""
        inner = min(max(first, -(-self.pad // self.stride)), end)
        outer = min(max(inner, (self.size - 1 - self.position(0, self.kernel - 1)) // self.stride + 1), end)
        runs = [(w, w + 1) for w in range(first, inner)] + [(inner, outer)] + [(w, w + 1) for w in range(outer, end)]
        for start, stop in runs:
            if stop > start:
                yield start, stop, self._taps_within(start)

    def _taps_within(self, window: int) -> range:
        """Return the taps of a window outside the padding."""
        begin = self.position(window)
        first = max(0, -(begin // self.dilation))
        return range(first, max(first, min(self.kernel, -((begin - self.size) // self.dilation))))


class Pooling(NamedTuple):
    """Pooling of images (images, sizes…, channels).

    ``join`` combines two elements; ``neutral`` is the value of a window that lies in the padding; the result is
    multiplied by ``factor``.
    """

    axes: list[AxisWindows]
    channels: int
    join: Callable[..., Any]
    neutral: float
    factor: Array | None = None

    @property
    def by_phase(self) -> bool:
        """True if columns that a stride takes together are copied to lie together; faster if windows overlap."""
        return 1 < self.axes[-1].stride < self.axes[-1].kernel

    def buffer_shapes(self, tile: Region) -> dict[str, tuple[int, ...]]:
        """Return the shapes of scratch buffers: the result of each axis but the last, and columns by phase."""
        sizes: list[int] = [axis.size for axis in self.axes]
        shapes: dict[str, tuple[int, ...]] = {}
        for number, axis in enumerate(self.axes[:-1]):
            sizes[number] = axis.windows if number else tile.height
            shapes[f"axis {number}"] = (tile.images, *sizes, self.channels)
        if self.by_phase:
            last = self.axes[-1]
            columns = last.size if len(self.axes) > 1 else last.covered(0, tile.height).stop + last.pad
            shapes[_PHASES] = (tile.images, *sizes[:-1], last.stride, -(-columns // last.stride), self.channels)
        return shapes

    def passes(self, x: Array, result: Array, tile: Region, buffers: Buffers) -> Iterator[Pass]:
        """Yield passes that compute the rows of a region of the result from its images."""
        shapes = self.buffer_shapes(tile)
        for number, axis in enumerate(self.axes):
            lead = (slice(None),) * (number + 1)
            first, end = (0, axis.windows) if number else (tile.top, tile.bottom)
            covered = axis.covered(first, end)
            operand, step, origin = x[*lead, covered], axis.stride, covered.start
            last = number == len(self.axes) - 1
            if last and self.by_phase:
                phases = buffers.view(_PHASES, shapes[_PHASES])
                for phase in {(axis.position(0, tap) - origin) % step for tap in range(min(axis.kernel, step))}:
                    columns = operand[*lead, phase::step]
                    if columns.size:
                        yield partial(np.copyto, phases[*lead, phase, : columns.shape[number + 1]], columns)
            target = result if last else buffers.view(f"axis {number}", shapes[f"axis {number}"])
            for start, stop, taps in axis.groups(first, end):
                places = [axis.position(start, tap) - origin for tap in taps]
                count = stop - start
                if last and self.by_phase:
                    parts = [phases[*lead, p % step, p // step : p // step + count] for p in places]
                else:
                    parts = [operand[*lead, p : p + (count - 1) * step + 1 : step] for p in places]
                yield from self._joining_passes(parts, target[*lead, start - first : stop - first])
            x = target
        yield from self.factor_passes(result, tile)

    def factor_passes(self, result: Array, tile: Region) -> Iterator[Pass]:
        """Yield the pass that multiplies the rows of a region of the result by the factor, if there is one."""
        if self.factor is not None:
            factor = self.factor if self.factor.ndim == 0 else self.factor[tile.top : tile.bottom, ..., None]
            yield partial(np.multiply, result, factor.astype(result.dtype), result)

    def _joining_passes(self, parts: Sequence[Array], target: Array) -> Iterator[Pass]:
        if not parts:
            yield partial(target.fill, self.neutral)
        elif len(parts) == 1:
            yield partial(np.copyto, target, parts[0])
        else:
            yield partial(self.join, parts[0], parts[1], out=target)
        for part in parts[2:]:
            yield partial(self.join, target, part, out=target)
