"""PyTorch code of the operations of :mod:`netcalc.ops.conv_transpose`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.families.conv import _short
from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed_convolution(call: Call) -> Emitted | str:
    """Write a module of transposed convolution."""
    op: Any = call.op
    padding = [pair if isinstance(pair, tuple) else (pair, pair) for pair in op.padding]
    if any(before != after for before, after in padding):
        raise unsupported("has padding that differs at the two ends")
    sides = tuple(before for before, _ in padding)
    if call.has(1):
        if call.params or any(size != 1 for size in op.dilation):
            raise unsupported("takes a weight as an input")
        bias = call.input(2) if call.has(2) else "None"
        stride, pads, more = (
            call.sizes(v, n)
            for v, n in ((op.stride, "stride"), (sides, "padding"), (op.output_padding, "output_padding"))
        )
        groups = call.value(op.groups, "groups")
        return f"F.conv_transpose{op.axes}d({call.x}, {call.input(1)}, {bias}, {stride}, {pads}, {more}, {groups})"
    options = call.arguments(
        stride=(_short(op.stride), 1),
        padding=(_short(sides), 0),
        output_padding=(_short(op.output_padding), 0),
        groups=(op.groups, 1),
        bias=(op.bias, True),
        dilation=(_short(op.dilation), 1),
    )
    channels = call.start(call.type().shape[-op.axes - 1], "in_channels")
    kernel = call.sizes(op.kernel, "kernel_size", at_start=True)
    out = call.start(op.out, "out_channels")
    return call.module(f"nn.ConvTranspose{op.axes}d({channels}, {out}, kernel_size={kernel}{options})")
