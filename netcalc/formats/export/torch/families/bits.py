"""PyTorch code of the operations of :mod:`netcalc.ops.bits`."""

from __future__ import annotations

from netcalc.formats.export.torch.families.arithmetic import operands
from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("bitwise_and", "bitwise_or", "bitwise_xor")
def bitwise(call: Call) -> Emitted | str:
    """Write an operator of Python."""
    symbol = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}[call.op.name]
    return f" {symbol} ".join(operands(call))


@rule("bitwise_not")
def bitwise_not(call: Call) -> Emitted | str:
    """Write ``~``."""
    return f"~{call.x}"
