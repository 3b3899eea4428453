"""A graph in ONNX that is being built: nodes, values with their types, parameters, and names of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from netcalc.dtypes import DType
from netcalc.formats.onnx.messages import Node
from netcalc.tensor_type import TensorType

#: Operators without bfloat16 before the version in which they have it, 99 for none: they are computed in float32.
_WITHOUT_BFLOAT16: dict[str, int] = {
    **dict.fromkeys(("Einsum", "OneHot", "Range", "Shrink"), 99),
    "Gelu": 20,
    "TopK": 24,
    **dict.fromkeys(
        (
            *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan"),
            *("AveragePool", "MaxPool", "GlobalAveragePool", "GlobalMaxPool", "RoiAlign", "GridSample"),
            *("Conv", "ConvTranspose", "InstanceNormalization", "RNN", "LSTM", "GRU"),
            *("Elu", "HardSigmoid", "HardSwish", "Mish", "Selu", "Softplus", "Softsign"),
        ),
        22,
    ),
}


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
        if self.opset < _WITHOUT_BFLOAT16.get(op, 0) and any(type_.dtype == "bfloat16" for type_ in types):
            wider = [value and self._cast(value, "bfloat16", "float32") for value in inputs]
            inner = [type_.with_dtype("float32") if type_.dtype == "bfloat16" else type_ for type_ in types]
            made = self.nodes_of(op, wider, inner, **attributes)
            back = ((value, type_.dtype) for value, type_ in zip(made, types, strict=True))
            return [self._cast(value, "float32", "bfloat16") if kind == "bfloat16" else value for value, kind in back]
        name = self.unique(f"{self._scope}/{op}")
        outputs = [self.unique(f"{name}_output_{index}") for index in range(len(types))]
        names = ["" if value is None else value.name for value in inputs]
        while names and not names[-1]:
            names.pop()
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(Node(op, "", name, names, outputs, given))
        self.types.update(zip(outputs, types, strict=True))
        return [Tensor(output, type_) for output, type_ in zip(outputs, types, strict=True)]

    def _cast(self, x: Tensor, before: DType, after: DType) -> Tensor:
        """Return a value of one element type in another; others as they are."""
        if x.dtype != before:
            return x
        type_ = x.type.with_dtype(after)
        return self.node("Cast", [x], type_, to=type_)

    def node(self, op: str, inputs: Sequence[Tensor | None], type_: TensorType, **attributes: Any) -> Tensor:
        """Add a node with one result."""
        return self.nodes_of(op, inputs, [type_], **attributes)[0]

    def constant(self, value: Any, type_: TensorType) -> Tensor:
        """Return a constant: a number or nested lists of numbers."""
        return self.node("Constant", [], type_, value=Numbers(value, type_))
