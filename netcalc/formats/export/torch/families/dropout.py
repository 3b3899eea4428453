"""PyTorch code of the operations of :mod:`netcalc.ops.dropout`."""

from __future__ import annotations

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def stochastic_depth(x: Tensor, p: float, mode: str, training: bool) -> Tensor:
    """Drop whole samples, or all of them together, in training (arXiv:1603.09382)."""
    if not training or p == 0.0:
        return x
    count = x.shape[0] if mode == "row" else 1
    kept = torch.rand((count, *(1,) * (x.ndim - 1)), device=x.device) >= p
    return x * kept / (1.0 - p)
''')


@rule("dropout")
def dropout(call: Call) -> Emitted | str:
    """Write ``F.dropout``."""
    op = call.op
    if op.channelwise:
        axes = min(max(call.type().rank - 2, 1), 3)
        layer = f"nn.Dropout{axes}d({call.start(op.p, 'dropout')})"
        return Emitted(f"F.dropout{axes}d({call.x}, {call.value(op.p, 'dropout')}, self.training)", layer=layer)
    text = f"F.dropout({call.x}, {call.value(op.p, 'dropout')}, self.training)"
    return Emitted(text, layer=f"nn.Dropout({call.start(op.p, 'dropout')})")


@rule("stochastic_depth")
def stochastic_depth(call: Call) -> Emitted | str:
    """Write a helper."""
    p = call.value(call.op.p, "drop_path")
    return f'{call.helper("stochastic_depth")}({call.x}, {p}, "{call.op.mode}", self.training)'
