"""PyTorch code of the operations of :mod:`netcalc.ops.global_pool`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule(*(f"global_{kind}_pool{axes}d" for kind in ("avg", "max") for axes in (1, 2, 3)))
def global_pool(call: Call) -> Emitted | str:
    """Write global pooling: adaptive pooling to one element, or a reduction without axes of size 1."""
    op = call.op
    kind = "avg" if "avg" in op.name else "max"
    if op.keepdim:
        layer = f"nn.Adaptive{kind.title()}Pool{op.axes}d(1)"
        return Emitted(f"F.adaptive_{kind}_pool{op.axes}d({call.x}, 1)", layer=layer)
    axes = tuple(range(-op.axes, 0))
    return f"{call.x}.{'mean' if kind == 'avg' else 'amax'}({axes if op.axes > 1 else -1})"
