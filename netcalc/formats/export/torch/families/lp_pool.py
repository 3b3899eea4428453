"""PyTorch code of the operations of :mod:`netcalc.ops.lp_pool`."""

from __future__ import annotations

from netcalc.formats.export.torch.rules import Call, Emitted, rule


@rule("lp_pool1d", "lp_pool2d", "lp_pool3d")
def lp_pool(call: Call) -> Emitted | str:
    """Write ``F.lp_pool``."""
    op = call.op
    kernel = call.sizes(op.kernel, "kernel_size")
    stride = kernel if op.stride is None else call.sizes(op.stride, "stride")
    return f"F.lp_pool{op.axes}d({call.x}, {op.norm_type}, {kernel}, {stride}, {op.ceil_mode})"
