"""PyTorch code of the operations of :mod:`netcalc.ops.shuffle`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("pixel_shuffle")
def pixel_shuffle(call: Call) -> Emitted | str:
    """Write ``F.pixel_shuffle``."""
    factor = call.op.upscale_factor
    return Emitted(f"F.pixel_shuffle({call.x}, {factor})", layer=f"nn.PixelShuffle({factor})")


@rule("pixel_unshuffle")
def pixel_unshuffle(call: Call) -> Emitted | str:
    """Write ``F.pixel_unshuffle``."""
    factor = call.op.downscale_factor
    return Emitted(f"F.pixel_unshuffle({call.x}, {factor})", layer=f"nn.PixelUnshuffle({factor})")


@rule("channel_shuffle")
def channel_shuffle(call: Call) -> Emitted | str:
    """Write a transposition of groups and channels."""
    groups = call.value(call.op.groups, "groups")
    return f"{call.x}.unflatten(1, ({groups}, -1)).transpose(1, 2).flatten(1, 2)"
