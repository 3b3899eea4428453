"""Simplification of a graph, and fusion of elementwise operations onto the operations that they follow.

Both read the traits of operations (:class:`~netcalc.opdef.Operation`), such as ``elementwise``, instead of names.
"""

from __future__ import annotations

from netcalc.arrays import is_half
from netcalc.engine.graph import Graph, GraphNode, Tensor


def simplify(graph: Graph, constant_bytes: int) -> None:
    """Remove operations that are no-ops in inference, and mark nodes whose outputs depend on no input as constant.

    A node whose outputs take more than ``constant_bytes`` is computed in every run.
    """
    replaced: dict[Tensor, Tensor] = {}
    constants: set[Tensor] = set()
    remaining: list[GraphNode] = []
    for node in graph.nodes:
        node.inputs = [None if t is None else replaced.get(t, t) for t in node.inputs]
        operand = node.inputs[0] if node.inputs else None
        if node.op.no_op_in_inference and operand is not None:
            replaced[node.outputs[0]] = operand
            continue
        remaining.append(node)
        if node.op.draws:
            continue
        if not node.op.reads_values() or constants.issuperset(t for t in node.inputs if t is not None):
            node.constant = sum(t.nbytes for t in node.outputs) <= constant_bytes
            constants.update(node.outputs if node.constant else ())
    graph.nodes = remaining
    graph.outputs = [replaced.get(t, t) for t in graph.outputs]


def fuse(graph: Graph) -> None:
    """Move each elementwise operation into the node that computes its input, if nothing else uses that input.

    An operation on two branches joins the branch that is computed last.  A fused operation runs where the node that it
    joined runs.
    """
    uses = graph.uses()
    position: dict[Tensor, int] = {}  # of the node that computes a tensor, in the new list
    hosts: dict[Tensor, GraphNode] = {}  # the node that an operation on a tensor may join
    remaining: list[GraphNode] = []
    for node in graph.nodes:
        host = _host(node, uses, position, hosts)
        if host is None:
            place = len(remaining)
            remaining.append(node)
            if not node.constant and (node.op.gemm or is_elementwise(node)):
                hosts[node.outputs[0]] = node
        else:
            place = position[host.result]
            del hosts[host.result]
            host.after.append(node)
            hosts[node.outputs[0]] = host
        for tensor in node.outputs:
            position[tensor] = place
    graph.nodes = remaining


def _host(
    node: GraphNode, uses: dict[Tensor, int], position: dict[Tensor, int], hosts: dict[Tensor, GraphNode]
) -> GraphNode | None:
    """Return the node that this one can join, or None."""
    if node.constant or not is_elementwise(node):
        return None
    tensors = [t for t in node.inputs if t is not None]
    candidates = [(position[t], t) for t in tensors if t in hosts and uses[t] == 1 and _same_type(t, node.outputs[0])]
    if not candidates:
        return None
    place, joined = max(candidates, key=lambda candidate: candidate[0])
    if node.op.partial and is_half(joined.dtype):
        return None  # its input has to be rounded first, as the reference path does: √(−1e-9) is NaN, and √(−0) is −0
    host = hosts[joined]
    others = [t for t in tensors if t is not joined]
    if any(position.get(t, -1) >= place or not _same_type(t, joined) for t in others):
        return None
    if node.op.normalizes_channels and host.op.gemm and _column_axis(host, joined) != 1:
        return None  # the channels that it normalizes are not the columns of the product
    return host


def _column_axis(product: GraphNode, result: Tensor) -> int:
    """Return the axis of a product's result that holds its columns; an image may come without a batch axis."""
    rank = len(result.shape)
    return rank - 1 - (product.op.axes if product.op.windowed else 0)


def is_elementwise(node: GraphNode) -> bool:
    """Return True if each output element is a function of the input elements in its place, all of one float type.

    That includes a normalization with given statistics, whose scale and shift depend on the channel.
    """
    op, result = node.op, node.outputs[0]
    tensors = [t for t in node.inputs if t is not None]
    if result.dtype.kind not in "fV" or any(t.dtype != result.dtype for t in tensors):
        return False
    if op.combines:
        return len(tensors) + len(op.numbers()) == 2 and not getattr(op, "rounding", None)
    if op.normalizes_channels:
        return not op.own_statistics(False) and len(tensors) == 1
    return op.elementwise and len(tensors) == 1


def _same_type(tensor: Tensor, other: Tensor) -> bool:
    return tensor.shape == other.shape and tensor.dtype == other.dtype
