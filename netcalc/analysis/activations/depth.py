"""Layers of a timeline of activations at a depth of their paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.analysis.activations.records import Activations, Point, Step
from netcalc.ir import join


def points_at(activations: Activations, depth: int | None = None) -> tuple[Point, ...]:
    """Return the peak within each layer whose path has ``depth`` parts, or fewer if it has no layers inside.

    None is for the layers of the program, see :attr:`Activations.layers`.
    """
    return activations.layers if depth is None else tuple(_points(activations.timeline, "", 0, 1, depth))


def _points(steps: Sequence[Step], prefix: str, base: int, times: int, depth: int) -> Iterator[Point]:
    for step in steps:
        path = join(prefix, step.path)
        if step.inside and path.count(".") + 1 < depth:
            yield from _points(step.inside, path, base + step.base, times * step.times, depth)
        else:
            yield Point(path, step.op, base + step.bytes, times * step.times)
