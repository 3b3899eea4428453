"""PyTorch code of the operations of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.families.conv import _short
from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(call: Call) -> Emitted | str:
    """Write ``F.max_pool``, with padding of −∞ where it differs at the two ends."""
    op: Any = call.op
    pads = op.pads(call.type().shape[-op.axes :]) if hasattr(op, "pads") else op.padding
    sides, x = even_padding(call, pads, "-math.inf")
    dilation = (_short(op.dilation), 1)
    kernel = call.sizes(op.kernel, "kernel_size")
    options = pooling_options(call, sides, dilation=dilation)
    if op.return_indices:
        return f"F.max_pool{op.axes}d_with_indices({x}, {kernel}{options})"
    text = f"F.max_pool{op.axes}d({x}, {kernel}{options})"
    if x != call.x:
        return text
    kernel = call.sizes(op.kernel, "kernel_size", at_start=True)
    options = pooling_options(call, sides, at_start=True, dilation=dilation)
    return Emitted(text, layer=f"nn.MaxPool{op.axes}d({kernel}{options})")


def even_padding(call: Call, pads: Any, value: str) -> tuple[Any, str]:
    """Return equal padding of both sides by axis, and the padded input if the sides differ."""
    if all(before == after for before, after in pads):
        return tuple(before for before, _ in pads), call.x
    flat = tuple(side for pad in reversed(pads) for side in pad)
    return (0,) * len(pads), f"F.pad({call.x}, {call.value(flat, 'padding')}, value={value})"


def pooling_options(call: Call, sides: Any, *, at_start: bool = False, **more: tuple[Any, Any]) -> str:
    """Return the arguments of a pooling behind its kernel."""
    op: Any = call.op
    stride = op.kernel if op.stride is None else op.stride
    options = {"stride": (_short(stride), _short(op.kernel)), "padding": (_short(sides), 0), **more}
    options["ceil_mode"] = (op.ceil_mode, False)
    text = ""
    for name, (value, default) in options.items():
        if type(value) is not type(default) or value != default:
            text += f", {name}={call.value(value, name, at_start=at_start)}"
    return text
