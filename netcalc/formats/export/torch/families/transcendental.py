"""PyTorch code of the operations of :mod:`netcalc.ops.transcendental`."""

from __future__ import annotations

from netcalc.formats.export.torch.families.arithmetic import operands
from netcalc.formats.export.torch.rules import Call, Emitted, rule
from netcalc.ops import FAMILIES


@rule(*(name for name in FAMILIES["transcendental"] if name != "atan2"))
def function(call: Call) -> Emitted | str:
    """Write a function of torch."""
    return f"torch.{call.op.name}({call.x})"


@rule("atan2")
def atan2(call: Call) -> Emitted | str:
    """Write ``torch.atan2``, with a number as a tensor."""
    first, second = operands(call)
    if call.op.value is None:
        return f"torch.atan2({first}, {second})"
    if call.op.reverse:
        return f"torch.atan2(torch.full_like({second}, {first}), {second})"
    return f"torch.atan2({first}, torch.full_like({first}, {second}))"
