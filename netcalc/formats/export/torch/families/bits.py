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


@rule("bitwise_left_shift", "bitwise_right_shift")
def shift(call: Call) -> Emitted | str:
    """Write an operator of Python."""
    symbol = "<<" if call.op.name == "bitwise_left_shift" else ">>"
    return f" {symbol} ".join(operands(call))


@rule("bitcast")
def bitcast(call: Call) -> Emitted | str:
    """Write ``view`` with an element type."""
    return f"{call.x}.view(torch.{call.op.dtype})"
