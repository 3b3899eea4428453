"""PyTorch code of the operations of :mod:`netcalc.ops.rounding`."""

from __future__ import annotations

from netcalc.formats.export.torch.families.arithmetic import operands
from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("floor", "ceil", "round", "trunc", "remainder", "fmod")
def rounding(call: Call) -> Emitted | str:
    """Write a function of torch."""
    return f"torch.{call.op.name}({', '.join(operands(call))})"
