"""Nodes of quantized models in another order, so that weights are dequantized where they enter.

Tools quantize a product of matrices as a product of integers that is scaled afterwards, and a table as rows of integers
that are scaled by what uses them.  Both are a tensor of the file that is dequantized first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from netcalc.formats.onnx.messages import Node, TensorProto

_PRODUCTS = {"MatMulInteger": "MatMul", "ConvInteger": "Conv"}
#: Operators that move elements and change none.
_MOVES = frozenset(("Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"))
#: Places of quantized operands, each before its scale and zero point.
_OPERANDS = {
    "DequantizeLinear": (0,),
    "QLinearConv": (0, 3),
    "QLinearMatMul": (0, 3),
    "com.microsoft.DequantizeLinear": (0,),
    "com.microsoft.QGemm": (0, 3),
    "com.microsoft.QLinearAdd": (0, 3),
    "com.microsoft.QLinearMul": (0, 3),
}
_FLOAT32 = 1


def dequantized_first(
    nodes: Sequence[Node], tensors: Mapping[str, TensorProto], results: Collection[str]
) -> list[Node]:
    """Return nodes of equal value in which tensors of the file are dequantized before they are used.

    Args:
        nodes: the nodes of a graph.
        tensors: the tensors of the file that they see, by name.
        results: the outputs of the graph.
    """
    if not any(node.op in _PRODUCTS or node.op == "Gather" for node in nodes):
        return list(nodes)
    return _Rewriting(nodes, tensors, results).rewritten()


class _Rewriting:
    """Nodes with their users by the names of values; ``dropped`` are those in whose place others come."""

    def __init__(self, nodes: Sequence[Node], tensors: Mapping[str, TensorProto], results: Collection[str]) -> None:
        self._nodes = nodes
        self._tensors = tensors
        self._users: dict[str, list[Node]] = defaultdict(list)
        self._makers = {name: node for node in nodes for name in node.outputs if name}
        for node in nodes:
            for name in node.inputs:
                self._users[name].append(node)
        self._results = Counter(results)
        self._dropped: set[int] = set()
        self._placed: dict[int, list[Node]] = {}
        self._meant: dict[tuple[str, ...], str] = {}
        self._taken = {*self._makers, *tensors, *self._users}

    def rewritten(self) -> list[Node]:
        """Return the nodes in their new order."""
        for node in self._nodes:
            if node.domain == "" and node.op in _PRODUCTS:
                self._product(node)
            elif node.domain == "" and node.op == "Gather":
                self._gather(node)
        kept: list[Node] = []
        for node in self._nodes:
            kept += self._placed.get(id(node), [] if id(node) in self._dropped else [node])
        return kept

    def _product(self, node: Node) -> None:
        """Replace a product of integers, its conversion and its scaling by the product of what both factors mean."""
        cast = self._only_user(node, "Cast")
        scaled = None if cast is None else self._only_user(cast, "Mul")
        if cast is None or scaled is None or cast.attributes.get("to") != _FLOAT32:
            return
        scales = next((name for name in scaled.inputs if name != cast.outputs[0]), None)
        both = None if scales is None else self._makers.get(scales)
        if both is None or both.op != "Mul" or node.inputs[1] not in self._tensors:
            return
        constant = [name for name in both.inputs if name in self._tensors]
        computed = [name for name in both.inputs if name not in self._tensors]
        zeros = [node.inputs[place] if place < len(node.inputs) else "" for place in (2, 3)]
        if len(constant) != 1 or len(computed) != 1 or not self._is_of_tensor(computed[0]):
            return
        if (zeros[1] and zeros[1] not in self._tensors) or not self._scales(node, constant[0]):
            return
        added: list[Node] = []
        x = self._dequantized(node.inputs[0], computed[0], zeros[0], added)
        weight = self._dequantized(node.inputs[1], constant[0], zeros[1], added)
        kind = _PRODUCTS[node.op]
        added.append(Node(kind, "", scaled.name, [x, weight], scaled.outputs, node.attributes, {}, node.metadata))
        self._placed[id(scaled)] = added
        self._dropped |= {id(node), id(cast)}
        users = self._users[both.outputs[0]]
        if both.outputs[0] not in self._results and all(id(user) in self._placed for user in users):
            self._dropped.add(id(both))

    def _only_user(self, node: Node, kind: str) -> Node | None:
        """Return the node of a kind that alone uses the result of another one."""
        users = self._users[node.outputs[0]] if node.outputs else []
        if len(users) != 1 or users[0].op != kind or users[0].domain or node.outputs[0] in self._results:
            return None
        return users[0]

    def _is_of_tensor(self, scale: str) -> bool:
        """Return True for a scale that is one number, since the operator computes it of a whole tensor."""
        maker = self._makers.get(scale)
        return maker is not None and maker.op == "DynamicQuantizeLinear"

    def _scales(self, node: Node, name: str) -> bool:
        """Return True if a scale is one number, or a vector along the columns of a matrix."""
        shape, weight = self._tensors[name].shape, self._tensors[node.inputs[1]].shape
        return shape in ((), (1,)) or (node.op == "MatMulInteger" and shape == weight[-1:] and len(weight) == 2)

    def _dequantized(self, name: str, scale: str, zero: str, added: list[Node]) -> str:
        """Return the name of what quantized numbers mean, with the node that computes it among those added once."""
        key = (name, scale, zero)
        if key not in self._meant:
            made = self._meant[key] = self._free(f"{name.removesuffix('_quantized')}_meant")
            inputs = [name, scale, zero] if zero else [name, scale]
            added.append(Node("DequantizeLinear", "", "", inputs, [made], {"axis": -1}))
        return self._meant[key]

    def _gather(self, node: Node) -> None:
        """Look up rows of what a quantized table means, and quantize them again, which changes none."""
        table = self._tensors.get(node.inputs[0])
        if table is None or len(table.shape) < 2 or not node.outputs:
            return
        scaling = next(self._scalings(node.outputs[0], 0), None)
        if scaling is None or any(self._tensors[name].shape not in ((), (1,)) for name in scaling):
            return
        added: list[Node] = []
        made = self._dequantized(node.inputs[0], *scaling, added)
        rows = self._free(f"{node.outputs[0]}_meant")
        added.append(
            Node("Gather", "", node.name, [made, *node.inputs[1:]], [rows], node.attributes, {}, node.metadata)
        )
        added.append(Node("QuantizeLinear", "", "", [rows, *scaling], node.outputs))
        self._placed[id(node)] = added

    def _scalings(self, name: str, depth: int) -> Iterator[tuple[str, str]]:
        """Yield scales and zero points of the file by which nodes dequantize a value, or what they move of it."""
        for user in self._users[name] if depth < len(_MOVES) else ():
            kind = f"{user.domain}.{user.op}" if user.domain else user.op
            for place in _OPERANDS.get(kind, ()):
                names = user.inputs[place + 1 : place + 3]
                if user.inputs[place] == name and len(names) == 2 and all(each in self._tensors for each in names):
                    yield names[0], names[1]
            if user.domain == "" and user.op in _MOVES and user.inputs[0] == name and user.outputs:
                yield from self._scalings(user.outputs[0], depth + 1)

    def _free(self, name: str) -> str:
        free, number = name, 0
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free
