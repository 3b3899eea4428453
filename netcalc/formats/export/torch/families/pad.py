"""PyTorch code of the operations of :mod:`netcalc.ops.pad`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("pad")
def pad(call: Call) -> Emitted | str:
    """Write ``F.pad``, which lists the last axis first."""
    op = call.op
    rank = call.type().rank
    pads = op.pads(rank)
    flat = []
    for axis in range(rank - 1, min(pads) - 1, -1):
        flat += [call.value(side, "padding") for side in pads.get(axis, (0, 0))]
    options = "" if op.mode == "constant" else f', mode="{op.mode}"'
    if op.mode == "constant" and op.value:
        options = f", value={call.value(op.value, 'value')}"
    return f"F.pad({call.x}, ({', '.join(flat)}){options})"
