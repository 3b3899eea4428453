"""PyTorch code of the operations of :mod:`netcalc.ops.axes`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("squeeze")
def squeeze(call: Call) -> Emitted | str:
    """Write ``squeeze``."""
    axis = call.op.axis
    inside = "" if axis is None else str(axis[0]) if len(axis) == 1 else str(tuple(axis))
    return f"{call.x}.squeeze({inside})"


@rule("unsqueeze")
def unsqueeze(call: Call) -> Emitted | str:
    """Write ``unsqueeze``."""
    return f"{call.x}.unsqueeze({call.op.axis})"


@rule("permute")
def permute(call: Call) -> Emitted | str:
    """Write ``permute``."""
    return f"{call.x}.permute({', '.join(map(str, call.op.axes))})"


@rule("transpose")
def transpose(call: Call) -> Emitted | str:
    """Write ``transpose``."""
    return f"{call.x}.transpose({', '.join(map(str, call.op.axes))})"
