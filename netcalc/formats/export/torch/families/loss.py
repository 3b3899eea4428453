"""PyTorch code of the operations of :mod:`netcalc.ops.loss`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("mse_loss", "l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
def loss(call: Call) -> Emitted | str:
    """Write a loss of ``torch.nn.functional``."""
    op = call.op
    options = "" if op.reduction == "mean" else f', reduction="{op.reduction}"'
    weight = f", weight={call.input(2)}" if call.has(2) else ""
    if call.has(3):
        options += f", pos_weight={call.input(3)}"
    return f"F.{op.name}({call.x}, {call.input(1)}{weight}{options})"


@rule("kl_div")
def kl_div(call: Call) -> Emitted | str:
    """Write ``F.kl_div``."""
    return f'F.kl_div({call.x}, {call.input(1)}, reduction="{call.op.reduction}", log_target={call.op.log_target})'
