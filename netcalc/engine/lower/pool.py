"""Pooling with a sliding window, one axis after the other: whole rows of pixels are joined first, columns last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from netcalc.engine.graph import Node
from netcalc.engine.lower.context import Lowering, lowering
from netcalc.engine.lower.conv.geometry import Region, regions, shaped
from netcalc.engine.lower.epilogue import Pass, sequence
from netcalc.engine.step import Job, Scratch, Step
from netcalc.numerics.kernels import Array
from netcalc.numerics.kernels._pooling import elements


class _Axis(NamedTuple):
    """The windows along one axis."""

    size: int
    windows: int
    kernel: int
    stride: int
    pad: int
    dilation: int

    def place(self, window: int, tap: int = 0) -> int:
        """Where a tap of a window lies; outside the axis in the padding."""
        return window * self.stride - self.pad + tap * self.dilation

    def cover(self, first: int, end: int) -> slice:
        """What windows see of the axis."""
        low = min(max(self.place(first), 0), self.size)
        return slice(low, max(low, min(self.place(end - 1, self.kernel - 1) + 1, self.size)))

    def groups(self, first: int, end: int) -> Iterator[tuple[int, int, list[int]]]:
        """Runs of windows, (first, end), with the taps that all of them have outside the padding."""
        inner = min(max(first, -(-self.pad // self.stride)), end)
        outer = min(max(inner, (self.size - 1 - self.place(0, self.kernel - 1)) // self.stride + 1), end)
        runs = [(w, w + 1) for w in range(first, inner)] + [(inner, outer)] + [(w, w + 1) for w in range(outer, end)]
        for start, stop in runs:
            if stop > start:
                yield start, stop, [t for t in range(self.kernel) if 0 <= self.place(start, t) < self.size]


class _Pooling(NamedTuple):
    """``join`` makes two elements one; ``nothing`` is what padding has; the result is multiplied by ``factor``."""

    axes: list[_Axis]
    channels: int
    join: Callable[..., Any]
    nothing: float
    factor: Array | None = None

    @property
    def split(self) -> bool:
        """Whether columns that a stride takes together are copied to lie together; pays where windows overlap."""
        return 1 < self.axes[-1].stride < self.axes[-1].kernel

    def arrays(self, tile: Region) -> list[tuple[int, ...]]:
        """What each axis but the last leaves of the rows of a region; and the last one rearranged."""
        sizes, shapes = [axis.size for axis in self.axes], []
        for number, axis in enumerate(self.axes[:-1]):
            sizes[number] = axis.windows if number else tile.height
            shapes.append((tile.images, *sizes, self.channels))
        if self.split:
            last = self.axes[-1]
            seen = last.size if len(self.axes) > 1 else last.cover(0, tile.height).stop + last.pad
            shapes.append((tile.images, *sizes[:-1], last.stride, -(-seen // last.stride), self.channels))
        return shapes

    def passes(self, x: Array, y: Array, tile: Region, scratch: Sequence[Array]) -> Iterator[Pass]:
        """Passes that give the rows ``y`` of a region of the result."""
        for number, axis in enumerate(self.axes):
            lead = (slice(None),) * (number + 1)
            first, end = (0, axis.windows) if number else (tile.top, tile.bottom)
            cover = axis.cover(first, end)
            seen, step, origin = x[*lead, cover], axis.stride, cover.start
            final = number == len(self.axes) - 1
            if final and self.split:
                phases = shaped(scratch[-1], self.arrays(tile)[-1])
                for phase in {(axis.place(0, tap) - origin) % step for tap in range(axis.kernel)}:
                    columns = seen[*lead, phase::step]
                    if columns.size:
                        yield partial(np.copyto, phases[*lead, phase, : columns.shape[number + 1]], columns)
            goal = y if final else shaped(scratch[number], self.arrays(tile)[number])
            for start, stop, taps in axis.groups(first, end):
                places = [axis.place(start, tap) - origin for tap in taps]
                count = stop - start
                if final and self.split:
                    parts = [phases[*lead, p % step, p // step : p // step + count] for p in places]
                else:
                    parts = [seen[*lead, p : p + (count - 1) * step + 1 : step] for p in places]
                yield from self._joined(parts, goal[*lead, start - first : stop - first])
            x = goal
        if self.factor is not None:
            factor = self.factor if self.factor.ndim == 0 else self.factor[tile.top : tile.bottom, ..., None]
            yield partial(np.multiply, y, factor.astype(y.dtype), y)

    def _joined(self, parts: Sequence[Array], goal: Array) -> Iterator[Pass]:
        if not parts:
            yield partial(goal.fill, self.nothing)
        elif len(parts) == 1:
            yield partial(np.copyto, goal, parts[0])
        else:
            yield partial(self.join, parts[0], parts[1], out=goal)
        for part in parts[2:]:
            yield partial(self.join, goal, part, out=goal)


@lowering("max_pool1d", "max_pool2d", "max_pool3d")
def largest(low: Lowering, node: Node) -> bool:
    """The largest element of each window."""
    return not node.op.return_indices and _pool(low, node, _sliding(node), np.maximum, -np.inf)


@lowering("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average(low: Lowering, node: Node) -> bool:
    """The mean of each window."""
    op, axes = node.op, _sliding(node)
    if op.divisor_override is not None:
        return _pool(low, node, axes, np.add, 0, np.array(1 / op.divisor_override))
    sizes, counts = zip(*((axis.size, axis.windows) for axis in axes), strict=True)
    divisor = elements(op, sizes, counts, with_padding=op.count_include_pad)
    return _pool(low, node, axes, np.add, 0, 1 / (divisor if np.ptp(divisor) else divisor.flat[0]))


@lowering("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_largest(low: Lowering, node: Node) -> bool:
    """The largest element of equal parts."""
    return not node.op.return_indices and _pool(low, node, _parts(node), np.maximum, -np.inf)


@lowering("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_average(low: Lowering, node: Node) -> bool:
    """The mean of equal parts."""
    axes = _parts(node)
    return _pool(low, node, axes, np.add, 0, np.array(1 / math.prod(axis.kernel for axis in axes)))


def _sliding(node: Node) -> list[_Axis]:
    """The windows of a kernel that slides."""
    op = node.op
    every = zip(*_sizes(node), op.kernel, op.strides, op.offsets, op.dilations, strict=True)
    return [_Axis(*one) for one in every]


def _parts(node: Node) -> list[_Axis]:
    """The windows of parts that are equal; none where they are not."""
    sizes, counts = _sizes(node)
    if 0 in counts or any(size % count for size, count in zip(sizes, counts, strict=True)):
        return []
    return [_Axis(n, count, n // count, n // count, 0, 1) for n, count in zip(sizes, counts, strict=True)]


def _sizes(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The spatial axes of the input and of the result."""
    assert node.inputs[0] is not None
    axes = node.op.axes
    return node.inputs[0].shape[-axes:], node.outputs[0].shape[-axes:]


def _pool(
    low: Lowering,
    node: Node,
    axes: list[_Axis],
    join: Callable[..., Any],
    nothing: float,
    factor: Array | None = None,
) -> bool:
    """A step that pools images whose pixels are rows of channels."""
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    if not axes or 0 in (*source.shape, *result.shape):
        return False
    lead = len(source.shape) - len(axes) - 1  # 1 with a batch, 0 without
    order = (*range(lead), *range(lead + 1, len(source.shape)), lead)
    x, out = low.wide(node, low.slot(source)).permuted(order), low.new(result, order).permuted(order)
    channels, itemsize = x.shape[-1], x.dtype.itemsize
    if x.strides[-2:] != (channels * itemsize, itemsize):
        x = low.copied(node, x)
    images, pooled = (slot.reshaped((math.prod(slot.shape[:lead]), *slot.shape[lead:])) for slot in (x, out))
    assert images is not None and pooled is not None
    pooling = _Pooling(axes, channels, join, nothing, factor)
    row = channels * math.prod(max(axis.size, axis.windows) for axis in axes[1:])
    threads = low.parallelism.pass_jobs(images.elements)
    tiles = regions(pooled.shape[0], pooled.shape[1], 1, max(1, low.tuning.strip_elements // row), threads)
    narrow = out.dtype != x.dtype
    needed = [list(map(math.prod, pooling.arrays(tile))) for tile in tiles]
    scratch: list[Scratch] = [((max(sizes),), x.dtype) for sizes in zip(*needed, strict=True)]
    if narrow:
        most = max(tile.images * tile.height for tile in tiles)
        scratch.insert(0, ((most * math.prod(pooled.shape[2:]),), x.dtype))

    def bind(index: int, arrays: Sequence[Array]) -> Job:
        tile = tiles[index]
        goal = pooled.array()[tile.first : tile.end, tile.top : tile.bottom]
        y = shaped(arrays[0], goal.shape) if narrow else goal
        own = arrays[1:] if narrow else arrays
        passes = list(pooling.passes(images.array()[tile.first : tile.end], y, tile, own))
        if narrow:
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)

    low.emit(Step(node, (x,), (out,), len(tiles), bind, scratch))
    return True
