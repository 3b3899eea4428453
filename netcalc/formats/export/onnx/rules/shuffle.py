"""Channels and pixels in another order."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("pixel_shuffle")
def pixel_shuffle(graph: Emitter, call: Applied) -> Tensor:
    """Return a DepthToSpace of a batch of images; of other tensors its arithmetic."""
    x, factor = call.x, call.op.upscale_factor
    if x.rank == 4 and isinstance(factor, int):
        return graph.node("DepthToSpace", [x], call.output, blocksize=factor, mode="CRD")
    *batch, channels, height, width = x.shape
    parts = graph.reshape(x, (*batch, channels // (factor * factor), factor, factor, height, width))
    first = len(batch)
    order = [*range(first), first, first + 3, first + 1, first + 4, first + 2]
    return graph.reshape(graph.transpose(parts, order), call.output.shape)


@rule("pixel_unshuffle")
def pixel_unshuffle(graph: Emitter, call: Applied) -> Tensor:
    """Return the squares of pixels as channels."""
    x, factor = call.x, call.op.downscale_factor
    *batch, channels, height, width = x.shape
    parts = graph.reshape(x, (*batch, channels, height // factor, factor, width // factor, factor))
    first = len(batch)
    order = [*range(first), first, first + 2, first + 4, first + 1, first + 3]
    return graph.reshape(graph.transpose(parts, order), call.output.shape)


@rule("channel_shuffle")
def channel_shuffle(graph: Emitter, call: Applied) -> Tensor:
    """Return the channels of the groups interleaved."""
    x, groups = call.x, call.op.groups
    batch, channels, *rest = x.shape
    parts = graph.reshape(x, (batch, groups, channels // groups, *rest))
    return graph.reshape(graph.swapped(parts, 1, 2), x.shape)
