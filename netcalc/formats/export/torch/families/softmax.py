"""PyTorch code of the operations of :mod:`netcalc.ops.softmax`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("softmax", "log_softmax")
def softmax(call: Call) -> Emitted | str:
    """Write ``F.softmax`` or ``F.log_softmax``."""
    layer = "nn.Softmax" if call.op.name == "softmax" else "nn.LogSoftmax"
    return Emitted(f"F.{call.op.name}({call.x}, dim={call.op.axis})", layer=f"{layer}(dim={call.op.axis})")
