"""Messages of ONNX models: graphs, nodes, attributes, functions and the headers of tensors.

Numbers of fields are those of ``onnx.proto``.  Fields that a count or a run does not need are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from netcalc.formats.onnx.wire import Data, Field, fields, floats, integers, signed, text
from netcalc.limits import MAX_STORED_AXES, MAX_STORED_TENSORS
from netcalc.weights.stored import DamagedError

#: Metadata of an input that is a parameter or a buffer, in a file that netcalc writes without weights.
PARAMETER_KEY = "netcalc.parameter"
#: Deepest nesting of graphs in attributes of nodes.
_DEEPEST = 40


class TensorProto(NamedTuple):
    """The header of a tensor, and the place of its data.

    ``raw`` are bounds of bytes in the file, ``lists`` fields of numbers in it, and ``external`` the entries of data in
    another file.  The data are ``absent`` where a file has the architecture alone.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    raw: tuple[int, int] | None = None
    lists: tuple[Field, ...] = ()
    external: dict[str, str] | None = None
    absent: bool = False


class ValueInfo(NamedTuple):
    """The declared type of a value; ``kind`` is None for what is no tensor, sizes are numbers, names or None."""

    name: str
    kind: int | None
    shape: tuple[int | str | None, ...] | None


@dataclass(slots=True)
class Node:
    """A node of a graph: an operator applied to values by name."""

    op: str = ""
    domain: str = ""
    name: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)  # attributes that are those of the function around it
    metadata: dict[str, str] = field(default_factory=dict)
    overload: str = ""

    @property
    def label(self) -> str:
        """The name of the node in messages, or its operator with its first result."""
        kind = f"{self.domain}.{self.op}" if self.domain else self.op
        if self.name:
            return f"{kind} {self.name[:120]!r}"
        return f"{kind} that makes {self.outputs[0][:120]!r}" if self.outputs else kind


@dataclass(slots=True)
class GraphProto:
    """A graph: nodes, tensors that it holds, and the values that go in and out."""

    name: str = ""
    nodes: list[Node] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    inputs: list[ValueInfo] = field(default_factory=list)
    outputs: list[ValueInfo] = field(default_factory=list)
    values: list[ValueInfo] = field(default_factory=list)
    sparse: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Function:
    """A function of a model: nodes with named inputs, outputs and attributes."""

    name: str = ""
    domain: str = ""
    overload: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)  # with defaults
    opsets: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Model:
    """A model: its graph, its functions and the versions of its operators."""

    version: int = 0
    producer: str = ""
    graph: GraphProto | None = None
    functions: list[Function] = field(default_factory=list)
    opsets: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)


_Span: TypeAlias = tuple[int, int]


def parsed_model(data: Data) -> Model:
    """Return the model of a file.

    Raises:
        DamagedError: the file holds no model.
    """
    model = Model()
    for found in fields(data, 0, len(data)):
        match found.number:
            case 1:
                model.version = signed(found.value)
            case 2:
                model.producer = text(data, found)
            case 7:
                model.graph = _graph(data, found.span, 0)
            case 8:
                model.opsets.update([_opset(data, found.span)])
            case 14:
                model.metadata.update([_entry(data, found.span)])
            case 25:
                model.functions.append(_function(data, found.span))
    if model.graph is None:
        raise DamagedError("no graph in it")
    return model


def _opset(data: Data, span: _Span) -> tuple[str, int]:
    domain, version = "", 0
    for found in fields(data, *span):
        if found.number == 1:
            domain = text(data, found)
        elif found.number == 2:
            version = signed(found.value)
    return "" if domain == "ai.onnx" else domain, version


def _entry(data: Data, span: _Span) -> tuple[str, str]:
    """Return a text with its key."""
    key = value = ""
    for found in fields(data, *span):
        if found.number == 1:
            key = text(data, found)
        elif found.number == 2:
            value = text(data, found)
    return key, value


def _graph(data: Data, span: _Span, depth: int) -> GraphProto:
    if depth > _DEEPEST:
        raise DamagedError(f"graphs that are nested more than {_DEEPEST} deep")
    graph = GraphProto()
    infos = {11: graph.inputs, 12: graph.outputs, 13: graph.values}
    for found in fields(data, *span):
        match found.number:
            case 1:
                graph.nodes.append(_node(data, found.span, depth))
            case 2:
                graph.name = text(data, found)
            case 5:
                graph.initializers.append(tensor(data, found.span))
                if len(graph.initializers) > MAX_STORED_TENSORS:
                    raise DamagedError(f"more than {MAX_STORED_TENSORS:,} tensors, which is the limit")
            case 11 | 12 | 13:
                info, metadata = _value_info(data, found.span)
                if found.number == 11 and PARAMETER_KEY in metadata:
                    graph.initializers.append(_without_data(info))
                else:
                    infos[found.number].append(info)
            case 15:
                graph.sparse.append(_sparse_name(data, found.span))
    return graph


def _sparse_name(data: Data, span: _Span) -> str:
    for found in fields(data, *span):
        if found.number == 1:
            return tensor(data, found.span).name
    return ""


def _node(data: Data, span: _Span, depth: int) -> Node:
    node = Node()
    for found in fields(data, *span):
        match found.number:
            case 1:
                node.inputs.append(text(data, found))
            case 2:
                node.outputs.append(text(data, found))
            case 3:
                node.name = text(data, found)
            case 4:
                node.op = text(data, found)
            case 5:
                name, value, reference = _attribute(data, found.span, depth)
                if reference:
                    node.references[name] = reference
                else:
                    node.attributes[name] = value
            case 7:
                node.domain = text(data, found)
            case 8:
                node.overload = text(data, found)
            case 9:
                node.metadata.update([_entry(data, found.span)])
    if node.domain == "ai.onnx":
        node.domain = ""
    return node


_LISTS: dict[int, str] = {7: "floats", 8: "ints", 9: "strings", 10: "tensors", 11: "graphs"}
#: Names of fields by the type that an attribute declares.
_OF_TYPE: dict[int, str] = {
    1: "f",
    2: "i",
    3: "s",
    4: "t",
    5: "g",
    6: "floats",
    7: "ints",
    8: "strings",
    9: "tensors",
    10: "graphs",
}


def _attribute(data: Data, span: _Span, depth: int) -> tuple[str, Any, str]:
    """Return the name, the value and the referenced attribute of an attribute."""
    name = reference = ""
    kind = 0
    values: dict[str, Any] = {}
    for found in fields(data, *span):
        match found.number:
            case 1:
                name = text(data, found)
            case 2:
                values["f"] = floats(data, found)[0]
            case 3:
                values["i"] = signed(found.value)
            case 4:
                values["s"] = text(data, found)
            case 5:
                values["t"] = tensor(data, found.span)
            case 6:
                values["g"] = _graph(data, found.span, depth + 1)
            case 7:
                values.setdefault("floats", []).extend(floats(data, found))
            case 8:
                values.setdefault("ints", []).extend(integers(data, found))
            case 9:
                values.setdefault("strings", []).append(text(data, found))
            case 10:
                values.setdefault("tensors", []).append(tensor(data, found.span))
            case 11:
                values.setdefault("graphs", []).append(_graph(data, found.span, depth + 1))
            case 20:
                kind = found.value
            case 21:
                reference = text(data, found)
    wanted = _OF_TYPE.get(kind)
    if wanted is None:  # types are required since the second version of the format
        return name, next(iter(values.values()), None), reference
    empty: dict[str, Any] = {"f": 0.0, "i": 0, "s": ""}
    return name, values.get(wanted, empty.get(wanted, [] if wanted in _LISTS.values() else None)), reference


def tensor(data: Data, span: _Span) -> TensorProto:
    """Return the header of a tensor."""
    shape: list[int] = []
    kind, name = 0, ""
    raw: tuple[int, int] | None = None
    lists: list[Field] = []
    external: dict[str, str] = {}
    outside = False
    for found in fields(data, *span):
        match found.number:
            case 1:
                shape.extend(integers(data, found))
            case 2:
                kind = found.value
            case 4 | 5 | 6 | 7 | 10 | 11:
                lists.append(found)
            case 8:
                name = text(data, found)
            case 9:
                raw = found.span
            case 13:
                external.update([_entry(data, found.span)])
            case 14:
                outside = found.value == 1
    if len(shape) > MAX_STORED_AXES or any(size < 0 for size in shape):
        raise DamagedError(f"{name[:80]!r} has no shape that a tensor can have")
    return TensorProto(name, tuple(shape), kind, raw, tuple(lists), external if outside else None)


def _without_data(info: ValueInfo) -> TensorProto:
    """Return the tensor that an input stands for in a file of the architecture alone."""
    shape = tuple(size for size in info.shape or () if isinstance(size, int))
    if info.kind is None or info.shape is None or len(shape) < len(info.shape):
        raise DamagedError(f"the parameter {info.name[:80]!r} has no shape of numbers")
    return TensorProto(info.name, shape, info.kind, absent=True)


def _value_info(data: Data, span: _Span) -> tuple[ValueInfo, dict[str, str]]:
    """Return the declared type of a value, and its metadata."""
    name, kind, shape = "", None, None
    metadata: dict[str, str] = {}
    for found in fields(data, *span):
        if found.number == 1:
            name = text(data, found)
        elif found.number == 2:
            for inner in fields(data, *found.span):
                if inner.number == 1:
                    kind, shape = _tensor_type(data, inner.span)
        elif found.number == 4:
            metadata.update([_entry(data, found.span)])
    return ValueInfo(name, kind, shape), metadata


def _tensor_type(data: Data, span: _Span) -> tuple[int, tuple[int | str | None, ...] | None]:
    kind, shape = 0, None
    for found in fields(data, *span):
        if found.number == 1:
            kind = found.value
        elif found.number == 2:
            shape = tuple(_size(data, inner.span) for inner in fields(data, *found.span) if inner.number == 1)
    return kind, shape


def _size(data: Data, span: _Span) -> int | str | None:
    for found in fields(data, *span):
        if found.number == 1:
            return signed(found.value)
        if found.number == 2:
            return text(data, found) or None
    return None


def _function(data: Data, span: _Span) -> Function:
    function = Function()
    for found in fields(data, *span):
        match found.number:
            case 1:
                function.name = text(data, found)
            case 4:
                function.inputs.append(text(data, found))
            case 5:
                function.outputs.append(text(data, found))
            case 7:
                function.nodes.append(_node(data, found.span, 0))
            case 9:
                function.opsets.update([_opset(data, found.span)])
            case 10:
                function.domain = text(data, found)
            case 11:
                name, value, _ = _attribute(data, found.span, 0)
                function.attributes[name] = value
            case 13:
                function.overload = text(data, found)
    return function


def subgraphs(node: Node) -> Iterator[GraphProto]:
    """Yield the graphs among the attributes of a node."""
    for value in node.attributes.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, GraphProto):
                yield item


#: A function that reads the elements of a tensor.
Reader: TypeAlias = Callable[[TensorProto], list[Any]]
