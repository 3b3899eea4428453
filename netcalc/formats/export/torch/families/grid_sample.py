"""PyTorch code of the operations of :mod:`netcalc.ops.grid_sample`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("grid_sample")
def grid_sample(call: Call) -> Emitted | str:
    """Write ``F.grid_sample``."""
    op = call.op
    options = f'mode="{op.mode}", padding_mode="{op.padding_mode}", align_corners={op.align_corners}'
    return f"F.grid_sample({call.x}, {call.input(1)}, {options})"
