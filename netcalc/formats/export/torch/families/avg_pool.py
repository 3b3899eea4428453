"""PyTorch code of the operations of :mod:`netcalc.ops.avg_pool`."""

from __future__ import annotations

from typing import Any

from netcalc.formats.export.torch.families.max_pool import even_padding, pooling_options
from netcalc.formats.export.torch.rules import Call, Emitted, rule, unsupported


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(call: Call) -> Emitted | str:
    """Write ``F.avg_pool``."""
    op: Any = call.op
    pads = op.pads(call.type().shape[-op.axes :]) if hasattr(op, "pads") else op.padding
    sides, x = even_padding(call, pads, "0.0")
    if x != call.x and not op.count_include_pad:
        raise unsupported("does not count padding that differs at the two ends")
    extra: dict[str, Any] = {"count_include_pad": (op.count_include_pad, True)}
    if op.divisor_override is not None:
        extra["divisor_override"] = (op.divisor_override, None)
    kernel = call.sizes(op.kernel, "kernel_size")
    text = f"F.avg_pool{op.axes}d({x}, {kernel}{pooling_options(call, sides, **extra)})"
    options = pooling_options(call, sides, at_start=True, **extra)
    layer = f"nn.AvgPool{op.axes}d({call.sizes(op.kernel, 'kernel_size', at_start=True)}{options})"
    return Emitted(text, layer=layer if x == call.x else "")
