"""A graph in ONNX that is being built: nodes, values with their types, parameters, and names of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from netcalc.formats.onnx.messages import Node
from netcalc.tensor_type import TensorType


class Tensor(NamedTuple):
    """A value of the graph."""

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the axes."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.type.rank

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.type.dtype


class Numbers(NamedTuple):
    """A constant: a number, or a nested list of numbers, in an element type."""

    value: Any
    type: TensorType


class Body(NamedTuple):
    """A graph that a node executes: what goes in at each step and what comes out; it reads values around it by name."""

    graph: Graph
    inputs: list[Tensor]
    outputs: list[Tensor]


@dataclass(slots=True)
class Graph:
    """Nodes in order, types of values by name, and the names of parameters in order of first use."""

    opset: int
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, TensorType] = field(default_factory=dict)
    parameters: dict[str, TensorType] = field(default_factory=dict)
    _scope: str = ""
    _taken: dict[str, int] = field(default_factory=dict)
    _begun: int = 0

    def inner(self) -> Self:
        """Return an empty graph for the body of a node, which shares names and parameters with this one."""
        return replace(self, nodes=[], types={}, _begun=0)

    # -- names --------------------------------------------------------------------------------------

    def enter(self, scope: str) -> None:
        """Begin the nodes of an operation, whose names begin with the path of a module."""
        self._scope = scope
        self._begun = len(self.nodes)

    def unique(self, name: str) -> str:
        """Return a name that nothing else has: itself, or with a number behind it."""
        number = self._taken.get(name)
        self._taken[name] = 0 if number is None else number + 1
        if number is None:
            return name
        return self.unique(f"{name}_{number + 1}")

    def call(self, values: Sequence[Tensor], names: Sequence[str]) -> list[Tensor]:
        """Return the results of the operation that was begun, under names of their own.

        What an operation passes on is not its result, and keeps its name.
        """
        made = {name for node in self.nodes[self._begun :] for name in node.outputs}
        renamed = {
            value.name: self.unique(name)
            for value, name in zip(values, names, strict=True)
            if value.name in made and not value.name.endswith("/")
        }
        self.rename(renamed, self._begun)
        return [Tensor(renamed.get(value.name, value.name), value.type) for value in values]

    def rename(self, names: Mapping[str, str], first: int = 0) -> None:
        """Give values other names, in all nodes from one on."""
        for node in self.nodes[first:]:
            node.inputs = [names.get(name, name) for name in node.inputs]
            node.outputs = [names.get(name, name) for name in node.outputs]
            for value in node.attributes.values():
                if isinstance(value, Body):
                    value.graph.rename(names)
        for old, new in names.items():
            if old in self.types:
                self.types[new] = self.types.pop(old)

    # -- nodes --------------------------------------------------------------------------------------

    def input(self, name: str, type_: TensorType) -> Tensor:
        """Return an input of the graph."""
        return Tensor(self.unique(name), type_)

    def parameter(self, name: str, type_: TensorType) -> Tensor:
        """Return a parameter by its path."""
        self.parameters.setdefault(name, type_)
        return Tensor(name, type_)

    def nodes_of(
        self, op: str, inputs: Sequence[Tensor | None], types: Sequence[TensorType], **attributes: Any
    ) -> list[Tensor]:
        """Add a node with several results of given types; attributes that are None are left out."""
        name = self.unique(f"{self._scope}/{op}")
        outputs = [self.unique(f"{name}_output_{index}") for index in range(len(types))]
        names = ["" if value is None else value.name for value in inputs]
        while names and not names[-1]:
            names.pop()
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(Node(op, "", name, names, outputs, given))
        self.types.update(zip(outputs, types, strict=True))
        return [Tensor(output, type_) for output, type_ in zip(outputs, types, strict=True)]

    def node(self, op: str, inputs: Sequence[Tensor | None], type_: TensorType, **attributes: Any) -> Tensor:
        """Add a node with one result."""
        return self.nodes_of(op, inputs, [type_], **attributes)[0]

    def constant(self, value: Any, type_: TensorType) -> Tensor:
        """Return a constant: a number or nested lists of numbers."""
        return self.node("Constant", [], type_, value=Numbers(value, type_))
