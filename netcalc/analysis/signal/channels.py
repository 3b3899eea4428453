"""The axis of a tensor whose indices are units: channels of images, features of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.analysis.walk import Instance

_LAST = {"linear", "bilinear", "layer_norm", "rms_norm", "embedding", "rnn", "lstm", "gru"}
_SECOND = {"group_norm", "instance_norm", "local_response_norm"}


def default_axis(rank: int) -> int:
    """Return axis 1 of images and volumes, and the last axis of other tensors."""
    return 1 if rank >= 4 else max(rank - 1, 0)


def channel_axis(instance: Instance, axes: Sequence[int | None]) -> int:
    """Return the channel axis of the first output, from the channel axes of the inputs; None for an absent input."""
    node = instance.node
    rank = node.output_types[0].rank
    op: Any = node.op
    name, types = op.name, node.input_types
    first = types[0] if types else None
    if name in _LAST:
        return max(rank - 1, 0)
    if op.normalizes_channels or name in _SECOND:
        return min(1, rank - 1)
    if first is None or not axes or axes[0] is None:
        return default_axis(rank)
    axis = axes[0]
    if name.startswith(("conv", "max_pool", "avg_pool", "adaptive_", "lp_pool")) and rank == first.rank:
        return 1 if rank > 2 else 0
    if name == "permute":
        return [size % rank for size in op.axes].index(axis) if rank else 0
    if name == "transpose":
        a, b = (int(number) % rank for number in op.axes)
        return b if axis == a else a if axis == b else axis
    return axis if rank == first.rank else default_axis(rank)
