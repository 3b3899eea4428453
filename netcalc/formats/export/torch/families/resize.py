"""PyTorch code of the operations of :mod:`netcalc.ops.resize`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("interpolate")
def interpolate(call: Call) -> Emitted | str:
    """Write ``F.interpolate``."""
    op: Any = call.op
    options = []
    if op.size is not None:
        sizes = tuple(op.size) * ((call.type().rank - 2) // len(op.size))
        options.append(f"size={call.value(sizes, 'size')}")
    else:
        factors = op.scale_factor
        options.append(f"scale_factor={factors[0] if len(set(factors)) == 1 else tuple(factors)}")
    options.append(f'mode="{op.mode}"')
    if op.mode in ("linear", "bilinear", "bicubic", "trilinear"):
        options.append(f"align_corners={op.align_corners}")
    if op.recompute_scale_factor:
        options.append("recompute_scale_factor=True")
    if op.antialias:
        options.append("antialias=True")
    return f"F.interpolate({call.x}, {', '.join(options)})"
