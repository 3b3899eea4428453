"""Embeddings whose table is packed, since a linear layer shares it."""

from __future__ import annotations

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.packed import packed_matrix
from netcalc.engine.lower.fallback import emit_kernel
from netcalc.engine.lower.packed_weights import reads_packed
from netcalc.engine.lower.registry import lowering
from netcalc.engine.native.product import PackedRows


@lowering("embedding")
def lower_embedding(context: LoweringContext, node: GraphNode) -> bool:
    """Emit the kernel, which looks rows up in the packed table; other tables need no lowering."""
    if not reads_packed(context, node):
        return False
    table = packed_matrix(context, node, "weight", None)
    emit_kernel(context, node, {"weight": (table, PackedRows)})
    return True
