"""PyTorch code of the operations of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("matmul")
def matmul(call: Call) -> Emitted | str:
    """Write ``@``."""
    return f"{call.x} @ {call.input(1)}"


@rule("einsum")
def einsum(call: Call) -> Emitted | str:
    """Write ``torch.einsum``."""
    inputs = ", ".join(call.input(i) for i in range(call.count))
    return f'torch.einsum("{call.op.equation}", {inputs})'
