"""PyTorch code of the operations of :mod:`netcalc.ops.fold`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("unfold")
def unfold(call: Call) -> Emitted | str:
    """Write ``F.unfold``."""
    return f"F.unfold({_padded(call)}, {call.sizes(call.op.kernel, 'kernel_size')}{_options(call)})"


@rule("fold")
def fold(call: Call) -> Emitted | str:
    """Write ``F.fold``."""
    op = call.op
    sides = tuple(before for before, _ in op.padding)
    size = call.value(tuple(op.output_size), "output_size")
    padding = f", padding={call.sizes(sides, 'padding')}" if any(side != 0 for side in sides) else ""
    return f"F.fold({call.x}, {size}, {call.sizes(op.kernel, 'kernel_size')}{_options(call)}{padding})"


def _padded(call: Call) -> str:
    if all(side == 0 for pad in call.op.padding for side in pad):
        return call.x
    flat = tuple(side for pad in reversed(call.op.padding) for side in pad)
    return f"F.pad({call.x}, {call.value(flat, 'padding')})"


def _options(call: Call) -> str:
    text = ""
    for name, values in (("dilation", call.op.dilation), ("stride", call.op.stride)):
        if any(value != 1 for value in values):
            text += f", {name}={call.sizes(values, name)}"
    return text
