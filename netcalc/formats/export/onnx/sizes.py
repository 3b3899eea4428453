"""Symbolic sizes in a graph: numbers that nodes compute from the shapes of its inputs."""

from __future__ import annotations

from functools import reduce
from typing import Any

from netcalc.dims import Dim, Poly, Symbol
from netcalc.dims.atoms import Call, CeilLog2
from netcalc.formats.export.onnx.graph import Graph, Tensor
from netcalc.tensor_type import TensorType

_ONE = TensorType((1,), "int64")
_FUNCTIONS = {"//": "Div", "min": "Min", "max": "Max"}


class UnreadError(Exception):
    """A symbolic size that is not the size of an axis of an input."""


class RuntimeSizes:
    """Sizes as lists of one number, each computed once, from the axes of inputs."""

    def __init__(self, inputs: list[Tensor]) -> None:
        self._axes = {
            str(size): (tensor, axis)
            for tensor in reversed(inputs)
            for axis, size in reversed([*enumerate(tensor.shape)])
            if not isinstance(size, int)
        }
        self._made: dict[str, Tensor] = {}

    def inner(self) -> RuntimeSizes:
        """Return the sizes for the body of a node, which knows those of the graph around it, and adds none to them."""
        inside = RuntimeSizes([])
        inside._axes, inside._made = self._axes, dict(self._made)
        return inside

    def of(self, graph: Graph, size: Dim) -> Tensor:
        """Return a size as a list of one number.

        Raises:
            UnreadError: no input has an axis of a size that it is computed from.
        """
        if isinstance(size, int):
            return _number(graph, size)
        text = str(size)
        if text not in self._made:
            self._made[text] = self._axis(graph, text) or self._sum(graph, size)
        return self._made[text]

    def _axis(self, graph: Graph, text: str) -> Tensor | None:
        if text not in self._axes:
            return None
        tensor, axis = self._axes[text]
        return graph.node("Shape", [tensor], _ONE, start=axis, end=axis + 1)

    def _sum(self, graph: Graph, size: Poly) -> Tensor:
        terms = []
        for atoms, coefficient in size.monomials():
            factors = [self._atom(graph, atom) for atom, power in atoms for _ in range(power)]
            if coefficient != 1 or not factors:
                factors.append(_number(graph, coefficient))
            terms.append(_joined(graph, "Mul", factors))
        return _joined(graph, "Add", terms)

    def _atom(self, graph: Graph, atom: Any) -> Tensor:
        text = str(atom)
        if text not in self._made:
            self._made[text] = self._axis(graph, text) or self._computed(graph, atom)
        return self._made[text]

    def _computed(self, graph: Graph, atom: Any) -> Tensor:
        if isinstance(atom, Symbol) and atom.multiple != 1 and atom.name in self._axes:
            whole = self._axis(graph, atom.name)
            assert whole is not None
            return graph.node("Div", [whole, _number(graph, atom.multiple)], _ONE)
        if isinstance(atom, Call) and atom.function in _FUNCTIONS:
            operands = [self.of(graph, operand) for operand in atom.operands]  # type: ignore[arg-type]
            return graph.node(_FUNCTIONS[atom.function], operands, _ONE)
        if isinstance(atom, CeilLog2):
            raise UnreadError(f"{atom} has no operator")
        raise UnreadError(f"no input has an axis of size {atom}")


def _number(graph: Graph, value: int) -> Tensor:
    return graph.constant([value], _ONE)


def _joined(graph: Graph, operator: str, values: list[Tensor]) -> Tensor:
    return reduce(lambda first, second: graph.node(operator, [first, second], _ONE), values)
