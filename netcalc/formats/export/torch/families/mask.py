"""PyTorch code of the operations of :mod:`netcalc.ops.mask`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def causal_mask(
    queries: int, keys: int, lower_right: bool, window: int | None
) -> Tensor:
    """Return the mask (queries, keys) of the keys that are not later than a query."""
    ahead = torch.arange(keys) - torch.arange(queries)[:, None]
    ahead = ahead - (keys - queries if lower_right else 0)
    visible = ahead <= 0
    return visible if window is None else visible & (ahead >= -window)
''')


@rule("tril", "triu")
def triangle(call: Call) -> Emitted | str:
    """Write ``torch.tril`` or ``torch.triu``."""
    diagonal = call.op.diagonal
    more = "" if isinstance(diagonal, int) and diagonal == 0 else f", {call.value(diagonal, 'diagonal')}"
    return f"torch.{call.op.name}({call.x}{more})"


@rule("causal_mask")
def causal_mask(call: Call) -> Emitted | str:
    """Write a helper."""
    op: Any = call.op
    queries = call.value(op.queries, "queries")
    keys = queries if op.keys is None else call.value(op.keys, "keys")
    window = call.value(op.window, "window")
    text = f"{call.helper('causal_mask')}({queries}, {keys}, {op.alignment == 'lower_right'}, {window})"
    if call.device:
        text += f".to({call.device[len(', device=') :]})"
    if op.dtype == "bool":
        return text
    zero = f"torch.zeros((), dtype=torch.{op.dtype}{call.device})"
    return f"torch.where({text}, {zero}, -math.inf)"
