"""PyTorch code of the operations of :mod:`netcalc.ops.decomposition`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("qr", "svdvals")
def plain(call: Call) -> Emitted | str:
    """Write a function of ``torch.linalg``."""
    return f"torch.linalg.{call.op.name}({call.x})"


@rule("svd")
def svd(call: Call) -> Emitted | str:
    """Write ``torch.linalg.svd``."""
    return f"torch.linalg.svd({call.x}, full_matrices={call.op.full_matrices})"


@rule("eigh", "eigvalsh")
def symmetric(call: Call) -> Emitted | str:
    """Write a function of a symmetric matrix."""
    return f'torch.linalg.{call.op.name}({call.x}, UPLO="{"U" if call.op.upper else "L"}")'


@rule("pinv")
def pinv(call: Call) -> Emitted | str:
    """Write ``torch.linalg.pinv``."""
    rtol = "" if call.op.rtol is None else f", rtol={call.op.rtol}"
    return f"torch.linalg.pinv({call.x}, atol={call.op.atol}{rtol})"
