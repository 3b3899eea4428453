"""PyTorch code of the operations of :mod:`netcalc.ops.adaptive_pool`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule(*(f"adaptive_{kind}_pool{axes}d" for kind in ("avg", "max") for axes in (1, 2, 3)))
def adaptive_pool(call: Call) -> Emitted | str:
    """Write adaptive pooling."""
    op = call.op
    kind = "avg" if "avg" in op.name else "max"
    size = call.sizes(op.output_size, "output_size")
    if getattr(op, "return_indices", False):
        return f"F.adaptive_max_pool{op.axes}d_with_indices({call.x}, {size})"
    layer = f"nn.Adaptive{kind.title()}Pool{op.axes}d({call.sizes(op.output_size, 'output_size', at_start=True)})"
    return Emitted(f"F.adaptive_{kind}_pool{op.axes}d({call.x}, {size})", layer=layer)
