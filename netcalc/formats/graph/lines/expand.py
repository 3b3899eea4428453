"""Tensors repeated along their axes, and along new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value


def expanded(build: Builder, input: Value, sizes: Sequence[Any]) -> Value:
    """Return a value repeated along axes of size 1, and along new axes in front; sizes that it has are not named."""
    added = len(sizes) - input.type.rank
    old = (None,) * added + input.type.shape
    target = [-1 if size in (-1, had) else size for size, had in zip(sizes, old, strict=True)]
    if all(size == -1 for size in target):
        return input
    if all(size in (-1, 1) for size in target) and added == 1:
        return build.line("unsqueeze", [input], {"axis": 0})
    return build.line("expand", [input], {"shape": target})


def broadcast_shape(shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """Return the shape to which shapes broadcast; the last axes are aligned."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))


def tiled(build: Builder, input: Value, repeats: Sequence[Any]) -> Value:
    """Return a tensor repeated along its axes, and along new ones in front; by a view where these have size 1."""
    shape = (1,) * (len(repeats) - input.type.rank) + input.type.shape
    if all(times == 1 or size == 1 for times, size in zip(repeats, shape, strict=True)):
        return expanded(build, input, [times if size == 1 else -1 for times, size in zip(repeats, shape, strict=True)])
    return build.line("tile", [input], {"repeats": list(repeats)})
