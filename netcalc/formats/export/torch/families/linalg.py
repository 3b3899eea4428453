"""PyTorch code of the operations of :mod:`netcalc.ops.linalg`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("inv", "det", "slogdet")
def function(call: Call) -> Emitted | str:
    """Write a function of ``torch.linalg``."""
    return f"torch.linalg.{call.op.name}({call.x})"


@rule("cholesky")
def cholesky(call: Call) -> Emitted | str:
    """Write ``torch.linalg.cholesky``."""
    return f"torch.linalg.cholesky({call.x}{', upper=True' if call.op.upper else ''})"


@rule("solve")
def solve(call: Call) -> Emitted | str:
    """Write ``torch.linalg.solve``."""
    return f"torch.linalg.solve({call.x}, {call.input(1)})"


@rule("solve_triangular")
def solve_triangular(call: Call) -> Emitted | str:
    """Write ``torch.linalg.solve_triangular``."""
    options = f"upper={call.op.upper}, unitriangular={call.op.unitriangular}"
    return f"torch.linalg.solve_triangular({call.x}, {call.input(1)}, {options})"
