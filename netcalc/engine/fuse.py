"""Simplifying a flat program: what does nothing goes, and elementwise work joins the product that it follows."""

from __future__ import annotations

from netcalc.engine.graph import Graph, Node, Tensor

__all__ = ["COMBINING", "NORMALISING", "UNARY", "VIEWS", "fuse", "is_elementwise", "simplify"]

#: Nothing in evaluation.
_NOTHING = {"identity", "dropout", "stochastic_depth"}
# fmt: off
#: A function of each element alone, of one tensor, that keeps its type.
UNARY = {
    "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "quick_gelu", "silu", "mish", "hardswish",
    "hardsigmoid", "hardtanh", "sigmoid", "tanh", "softplus", "softsign", "squared_relu", "exp", "log", "sqrt",
    "rsqrt", "reciprocal", "sin", "cos", "square", "abs", "neg", "clamp",
}
#: The same elements seen otherwise.
VIEWS = {
    "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "transpose", "permute", "select", "slice", "chunk",
    "split", "expand", "parameter", "buffer",
}
# fmt: on
#: A function of two elements.
COMBINING = {"add", "sub", "mul", "div", "minimum", "maximum"}
#: A scale and a shift for each channel, once its statistics are given.
NORMALISING = {"batch_norm", "frozen_batch_norm"}
#: Operations whose kernels give rows of channels, onto which elementwise work can be done while they are in the cache.
_PRODUCTS = {"conv1d", "conv2d", "conv3d", "linear"}


def simplify(graph: Graph, constant_bytes: int) -> None:
    """Takes out the operations that do nothing in evaluation, and marks those whose results no input changes."""
    same: dict[Tensor, Tensor] = {}
    constant: set[Tensor] = set()
    kept: list[Node] = []
    for node in graph.nodes:
        node.inputs = [None if t is None else same.get(t, t) for t in node.inputs]
        source = node.inputs[0] if node.inputs else None
        if node.op.name in _NOTHING and source is not None:
            same[node.outputs[0]] = source
            continue
        kept.append(node)
        if constant.issuperset(t for t in node.inputs if t is not None):
            node.constant = sum(t.nbytes for t in node.outputs) <= constant_bytes
            constant.update(node.outputs if node.constant else ())
    graph.nodes = kept
    graph.outputs = [same.get(t, t) for t in graph.outputs]


def fuse(graph: Graph) -> None:
    """Moves elementwise operations into the node that they follow, where nothing else takes what is between.

    A sum of two branches goes to the branch that is computed last; everything fused runs where its node stands.
    """
    uses = graph.uses()
    place: dict[Tensor, int] = {}  # the node, by position, after which a tensor is there
    ends: dict[Tensor, Node] = {}  # what more can be fused onto
    kept: list[Node] = []
    for node in graph.nodes:
        host = _host(node, uses, place, ends)
        if host is None:
            position = len(kept)
            kept.append(node)
            if not node.constant and (node.op.name in _PRODUCTS or is_elementwise(node)):
                ends[node.outputs[0]] = node
        else:
            position = place[host.result]
            del ends[host.result]
            host.after.append(node)
            ends[node.outputs[0]] = host
        for tensor in node.outputs:
            place[tensor] = position
    graph.nodes = kept


def _host(node: Node, uses: dict[Tensor, int], place: dict[Tensor, int], ends: dict[Tensor, Node]) -> Node | None:
    """The node that this one joins."""
    if node.constant or not is_elementwise(node):
        return None
    tensors = [t for t in node.inputs if t is not None]
    hosts = [(place[t], t) for t in tensors if t in ends and uses[t] == 1 and _alike(t, node.outputs[0])]
    if not hosts:
        return None
    position, joined = max(hosts, key=lambda host: host[0])
    host = ends[joined]
    others = [t for t in tensors if t is not joined]
    if any(place.get(t, -1) >= position or not _alike(t, joined) for t in others):
        return None
    if node.op.name in NORMALISING and host.op.name in _PRODUCTS and _channels(host, joined) != 1:
        return None  # the channels that it means are no columns of the product
    return host


def _channels(product: Node, result: Tensor) -> int:
    """Which axis of a product's result holds its columns; there may be no batch."""
    rank = len(result.shape)
    return rank - 1 if product.op.name == "linear" else rank - 1 - int(product.op.axes)


def is_elementwise(node: Node) -> bool:
    """Whether it works on each element, or on two in the same place, by itself."""
    name, result = node.op.name, node.outputs[0]
    if result.dtype.kind not in "fV" or any(t is not None and t.dtype != result.dtype for t in node.inputs):
        return False
    tensors = [t for t in node.inputs if t is not None]
    if name in COMBINING:
        return len(tensors) + len(node.op.numbers()) == 2 and not getattr(node.op, "rounding", None)
    if name in NORMALISING:
        return name == "frozen_batch_norm" or not node.op.own_statistics(False)
    return name in UNARY and len(tensors) == 1


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype
