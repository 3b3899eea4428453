"""Pooling over all spatial axes."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule

_OPERATORS = {"avg": ("GlobalAveragePool", "ReduceMean"), "max": ("GlobalMaxPool", "ReduceMax")}


@rule(*(f"global_{kind}_pool{axes}d" for kind in _OPERATORS for axes in (1, 2, 3)))
def global_pool(graph: Emitter, call: Applied) -> Tensor:
    """Return a global pooling; a reduction if the axes are removed, or there is no batch axis."""
    x, axes = call.x, call.op.axes
    pooling, reduction = _OPERATORS["avg" if "avg" in call.op.name else "max"]
    if call.op.keepdim and x.rank == axes + 2:
        return graph.node(pooling, [x], call.output)
    return graph.reduce(reduction, x, range(x.rank - axes, x.rank), keep=call.op.keepdim)
