"""Weights that are packed once for all operations that read them: linear layers, and embeddings tied to them."""

from __future__ import annotations

import numpy as np

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.conv.packed import packs


def reads_packed(context: LoweringContext, node: GraphNode) -> bool:
    """Return True if the weight of a node is packed, which a linear layer gains from and all its users can read."""
    owner = node.instance.owners["weight"]
    if owner not in context.packed:
        users = context.constants.users(node, "weight")
        has_product = packs(context) and any(user.op.name == "linear" for user in users)
        context.packed[owner] = has_product and all(_can_read(context, user) for user in users)
    return context.packed[owner]


def _can_read(context: LoweringContext, node: GraphNode) -> bool:
    name: str = node.op.name
    if name in context.tuning.disabled_lowerings or node.result.dtype != np.float32:
        return False
    return name == "embedding" or (name == "linear" and _is_large_product(context, node))


def _is_large_product(context: LoweringContext, node: GraphNode) -> bool:
    """Return True if a linear layer has its own weight, and a product that the kernel takes."""
    operand, given = node.operand, any(tensor is not None for tensor in node.inputs[1:])
    rows_fit = operand.elements >= context.tuning.packed_rows * operand.shape[-1] > 0
    return not given and operand.dtype == np.float32 and node.result.elements > 0 and rows_fit
