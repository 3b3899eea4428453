"""Graphs of drawn modules: trees of layers under drawn names, whose calls are wired at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, ModuleCall, Stored, StoredTensor, Value
from netcalc.tensor_type import TensorType

#: Names of operations, with numbers as lines without a name have them, and words that specs give to values.
NAMES = (
    *("sum", "sum_1", "sum_2", "add", "add_1", "mul", "mul_2", "relu", "relu_1", "relu_4", "linear", "linear_1"),
    *("product", "product_1", "sum_output", "projected", "repeated", "weight", "bias", "outer_sum", "outer_relu"),
    *(
        "a b",
        "é",
        "1:1",
        "x",
        "y",
        "z",
        "in",
        "_",
        "index",
        "turn",
        "turn_1",
        "output",
        "0",
        "1",
        "2",
        "layer0",
        "layer1",
        "fc",
        "fc_1",
    ),
    *("block", "block_output", "layer", "sequence", "name", "parameter", "out", "shortcut", "residual", "branch1"),
)
_OPERATIONS = ("add", "add", "mul", "sum", "relu", "tanh")


@dataclass(frozen=True)
class Part:
    """A module: a layer, or parts and the steps of its ``forward``.

    A step is the name of an operation or the path to a part, with the numbers of the values that it takes, counted from
    the last one.
    """

    layer: str = ""
    parts: tuple[tuple[str, Part], ...] = ()
    steps: tuple[tuple[Any, int, int], ...] = ()

    def paths(self, depth: int) -> Iterator[tuple[str, ...]]:
        """Yield the ways to the parts at most so deep."""
        for name, part in self.parts:
            yield (name,)
            if depth > 1:
                yield from ((name, *path) for path in part.paths(depth - 1))

    def at(self, path: tuple[str, ...]) -> Part:
        """Return the part at a path."""
        return dict(self.parts)[path[0]].at(path[1:]) if path else self


@st.composite
def parts(draw: Any, depth: int = 2, *, reach: int = 1, weights: bool = False) -> Part:
    """Draw a module; ``reach`` is how deep it calls parts, ``weights`` says that it uses their weights itself."""
    if depth == 0:
        return Part(draw(st.sampled_from(("linear", "linear", "relu", "norm"))))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    templates = draw(st.lists(parts(draw(st.integers(0, depth - 1)), reach=reach, weights=weights), max_size=2))
    inner = [templates[draw(st.integers(0, len(templates) - 1))] if templates else Part("linear") for _ in names]
    whole = Part("", tuple(zip(names, inner, strict=True)))
    calls: list[Any] = [*whole.paths(reach)]
    direct = [(*path, "weight") for path in whole.paths(2) if whole.at(path).layer == "linear"] if weights else []
    number = st.integers(0, 3)
    step = st.tuples(st.sampled_from([*calls, *calls, *_OPERATIONS, *direct]), number, number)
    steps = [(call, 0, 0) for call in calls[: draw(number)]] + draw(st.lists(step, min_size=1, max_size=6))
    return Part("", whole.parts, tuple(steps))


@dataclass
class Making:
    """The construction of the graph of a module."""

    graph: Graph = field(default_factory=lambda: Graph("drawn"))
    numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.build = Builder(self.graph)

    def call(self, part: Part, path: str, values: list[Value]) -> Value:
        """Add the lines of a call of a module to the graph, and return its result."""
        if path:
            number = self.numbers[path] = self.numbers.get(path, -1) + 1
            kind = "Block" if part.parts else part.layer.title()
            self.build.scope = (*self.build.scope, ModuleCall(path, number, kind))
        if part.layer:
            result = self._layer(part.layer, path, values[-1])
        else:
            made = list(values)
            for target, first, second in part.steps:
                made.append(self._step(part, path, target, _from_last(made, first), _from_last(made, second)))
            result = made[-1]
        if path:
            self.build.scope = self.build.scope[:-1]
        return result

    def _step(self, part: Part, path: str, target: Any, first: Value, second: Value) -> Value:
        if isinstance(target, str):
            arguments = [first, second] if target in ("add", "mul") else [first]
            return self.build.line(target, arguments, {"axis": -1, "keepdim": True} if target == "sum" else None)
        own = ".".join((path, *target) if path else target)
        if target[-1] == "weight" and part.at(target[:-1]).layer == "linear":
            return self.build.line("matmul", [_wide(self.build, first), self._stored(own, 4, 4)])
        return self.call(part.at(target), own, [first])

    def _layer(self, layer: str, path: str, value: Value) -> Value:
        if layer == "relu":
            return self.build.line("relu", [value])
        value = _wide(self.build, value)
        if layer == "norm":
            return self.build.line(
                "layer_norm", [value], None, {name: self._stored(f"{path}.{name}", 4) for name in ("weight", "bias")}
            )
        return self.build.line(
            "linear", [value], {"out": 4, "bias": False}, {"weight": self._stored(f"{path}.weight", 4, 4)}
        )

    def _stored(self, path: str, *shape: int) -> Value:
        self.graph.tensors.setdefault(path, StoredTensor(TensorType(shape)))
        return Value(TensorType(shape), path, Stored(path))


def _from_last(values: list[Value], number: int) -> Value:
    return values[-1 - min(number, len(values) - 1)]


def _wide(build: Builder, value: Value) -> Value:
    """Return a value with four columns."""
    return value if value.type.shape[-1] == 4 else build.line("expand", [value], {"shape": [2, 4]})


def graph_of_part(part: Part, inputs: list[str]) -> Graph:
    """Return the graph of a module, whose results are its last values."""
    making = Making()
    for name in inputs:
        making.graph.inputs[name] = Value(TensorType((2, 4)), name)
    making.graph.outputs["output"] = making.call(part, "", list(making.graph.inputs.values()))
    return making.graph
