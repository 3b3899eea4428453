"""Shuffles of pixels and channels."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.pixel_shuffle.default")
def pixel_shuffle(build: Builder, input: Value, upscale_factor: int) -> Value:
    return build.line("pixel_shuffle", [input], {"upscale_factor": upscale_factor})


@operator("aten.pixel_unshuffle.default")
def pixel_unshuffle(build: Builder, input: Value, downscale_factor: int) -> Value:
    return build.line("pixel_unshuffle", [input], {"downscale_factor": downscale_factor})


@operator("aten.channel_shuffle.default", "aten.native_channel_shuffle.default")
def channel_shuffle(build: Builder, input: Value, groups: int) -> Value:
    return build.line("channel_shuffle", [input], {"groups": groups})
