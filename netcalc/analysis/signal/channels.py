"""The axis of a tensor whose indices are units: channels of images, features of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.analysis.walk import Instance


def default_axis(rank: int) -> int:
    """Return axis 1 of images and volumes, and the last axis of other tensors."""
    return 1 if rank >= 4 else max(rank - 1, 0)


def channel_axis(instance: Instance, axes: Sequence[int | None]) -> int:
    """Return the channel axis of the first output, from the channel axes of the inputs; None for an absent input."""
    node = instance.node
    rank = node.output_types[0].rank
    op: Any = node.op
    stated = node.op.channels_at(rank)
    if stated is not None:
        return min(max(stated, 0), max(rank - 1, 0))
    first = node.input_types[0] if node.input_types else None
    if first is None or not axes or axes[0] is None:
        return default_axis(rank)
    axis = axes[0]
    if op.name == "permute":
        return [size % rank for size in op.axes].index(axis) if rank else 0
    if op.name == "transpose":
        a, b = (int(number) % rank for number in op.axes)
        return b if axis == a else a if axis == b else axis
    return axis if rank == first.rank else default_axis(rank)
