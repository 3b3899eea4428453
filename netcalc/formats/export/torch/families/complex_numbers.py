"""PyTorch code of the operations of :mod:`netcalc.ops.complex_numbers`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("real", "imag")
def part(call: Call) -> Emitted | str:
    """Write an attribute of a complex tensor."""
    return f"{call.x}.{call.op.name}"


@rule("view_as_real", "view_as_complex", "conj", "angle")
def view(call: Call) -> Emitted | str:
    """Write a function of torch."""
    return f"torch.{call.op.name}({call.x})"


@rule("complex", "polar")
def joined(call: Call) -> Emitted | str:
    """Write ``torch.complex`` or ``torch.polar``."""
    return f"torch.{call.op.name}({call.x}, {call.input(1)})"
