"""Places of tensors in the results of concatenations: what is computed there need not be copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.layout import Layout
from netcalc.engine.storage import Slot, has_rows


class Joins:
    """The part of a concatenation that each of its inputs is.

    The result of a concatenation may be a part of a later one.  Its store lives from the first part on, so that only
    those of the next nodes are computed in their places.

    Args:
        nodes: all nodes, in the order of the program.
        layout: slots of tensors.
        distance: nodes from the one that computes a part to the concatenation, at most.
    """

    def __init__(self, nodes: Iterable[GraphNode], layout: Layout, distance: int) -> None:
        self._layout = layout
        self._places: dict[Tensor, tuple[GraphNode, int]] = {}  # concatenation, and the first index along its axis
        computed: dict[Tensor, int] = {}
        for number, node in enumerate(nodes):
            computed[node.result] = number
            if node.op.name == "concat" and not node.constant:
                near = {t for t in node.inputs if t is not None and computed.get(t, -distance) >= number - distance}
                self._add(node, near)

    def _add(self, node: GraphNode, near: set[Tensor]) -> None:
        tensors, result = [t for t in node.inputs if t is not None], node.outputs[0]
        sizes = (tensor.shape[_axis(node)] for tensor in tensors)
        for tensor, start in zip(tensors, accumulate(sizes, initial=0), strict=False):
            if tensor in near and tensors.count(tensor) == 1 and tensor.dtype == result.dtype:
                self._places.setdefault(tensor, (node, start))

    def place(self, tensor: Tensor, order: Sequence[int]) -> Slot | None:
        """Return the part of a concatenation that a tensor is, with axes in this order in memory, None without one."""
        if tensor not in self._places:
            return None
        node, start = self._places[tensor]
        whole = self.whole(node, order)
        return whole.part(_axis(node), start, tensor.shape[_axis(node)]) if whole.order == tuple(order) else None

    def claim(self, tensor: Tensor, order: Sequence[int]) -> Slot | None:
        """Return the part of a concatenation as which a tensor is computed, with its axes in this order.

        None without one, or where its rows along the last of these axes are not evenly apart.
        """
        slot = self.place(tensor, order)
        if slot is None or not has_rows(slot.permuted(order)):
            return None
        self._layout.alias(tensor, slot)
        return slot.permuted(order)

    def whole(self, node: GraphNode, order: Sequence[int] | None) -> Slot:
        """Return the slot of a concatenation, which gets a store with its axes in this order, or a place of its own."""
        result = node.outputs[0]
        slot = self._layout.find(result)
        if slot is None:
            slot = None if order is None else self.place(result, order)
            if slot is None:
                return self._layout.allocate(result, order)
            self._layout.alias(result, slot)
        return slot


def _axis(node: GraphNode) -> int:
    axis: int = node.op.axis % len(node.outputs[0].shape)
    return axis
