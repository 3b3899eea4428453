"""PyTorch code of the operations of :mod:`netcalc.ops.class_loss`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("cross_entropy", "nll_loss")
def class_loss(call: Call) -> Emitted | str:
    """Write ``F.cross_entropy`` or ``F.nll_loss``."""
    op = call.op
    options = "" if op.reduction == "mean" else f', reduction="{op.reduction}"'
    weight = f", weight={call.input(2)}" if call.has(2) else ""
    smoothing = getattr(op, "label_smoothing", 0.0)
    options += f", label_smoothing={smoothing}" if smoothing else ""
    options += "" if op.ignore_index == -100 else f", ignore_index={op.ignore_index}"
    return f"F.{op.name}({call.x}, {call.input(1)}{weight}{options})"
