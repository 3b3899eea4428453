"""PyTorch code of the operations of :mod:`netcalc.ops.elementwise`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("exp", "log", "sqrt", "rsqrt", "reciprocal", "square", "abs", "sign", "sin", "cos")
def function(call: Call) -> Emitted | str:
    """Write a function of torch."""
    return f"torch.{call.op.name}({call.x})"


@rule("neg")
def neg(call: Call) -> Emitted | str:
    """Write ``-``."""
    return f"-{call.x}"


@rule("clamp")
def clamp(call: Call) -> Emitted | str:
    """Write ``clamp``."""
    op: Any = call.op
    limits = (("min", op.min), ("max", op.max))
    given = ", ".join(f"{name}={call.value(value, name)}" for name, value in limits if value is not None)
    return f"{call.x}.clamp({given})"


@rule("cast")
def cast(call: Call) -> Emitted | str:
    """Write ``to``."""
    x = (
        f"{call.x}.real"
        if call.type().is_complex and call.op.dtype != "bool" and "complex" not in call.op.dtype
        else call.x
    )
    return f"{x}.to(torch.{call.op.dtype})"
