"""PyTorch code of the operations of :mod:`netcalc.ops.sorting`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("argmax", "argmin")
def argument(call: Call) -> Emitted | str:
    """Write ``argmax`` or ``argmin``."""
    axis = "" if call.op.axis is None else str(call.op.axis)
    keep = "keepdim=True" if call.op.keepdim else ""
    return f"{call.x}.{call.op.name}({', '.join(filter(None, [axis, keep]))})"


@rule("topk")
def topk(call: Call) -> Emitted | str:
    """Write ``topk``."""
    op = call.op
    options = "" if op.largest else ", largest=False"
    options += "" if op.sorted else ", sorted=False"
    return f"{call.x}.topk({call.value(op.k, 'k')}, dim={op.axis}{options})"


@rule("sort")
def sort(call: Call) -> Emitted | str:
    """Write ``torch.sort``."""
    op = call.op
    return f"torch.sort({call.x}, dim={op.axis}, descending={op.descending}, stable={op.stable})"


@rule("cummax", "cummin")
def cumulative(call: Call) -> Emitted | str:
    """Write ``cummax`` or ``cummin``."""
    return f"{call.x}.{call.op.name}({call.op.axis})"
