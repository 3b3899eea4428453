"""PyTorch code of the operations of :mod:`netcalc.ops.fourier`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
def transform(call: Call) -> Emitted | str:
    """Write a transform of ``torch.fft``."""
    op = call.op
    options = "" if op.norm == "backward" else f', norm="{op.norm}"'
    if len(op.axis) == 1:
        size = op.n[0] if isinstance(op.n, tuple) else op.n
        length = "" if size is None else f", n={call.value(size, 'n')}"
        return f"torch.fft.{op.name}({call.x}{length}, dim={op.axis[0]}{options})"
    sizes = "" if op.n is None else f", s={call.value(op.n, 'n')}"
    return f"torch.fft.{op.name}n({call.x}{sizes}, dim={tuple(op.axis)}{options})"


@rule("fourier")
def fourier(call: Call) -> Emitted | str:
    """Write the real part of ``torch.fft.fftn``."""
    return f"torch.fft.fftn({call.x}, dim={tuple(call.op.axis)}).real"
