"""Graphs for tests: drawn tensors, and values by the reference kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Line, Stored, StoredTensor, Value
from netcalc.numerics.kernels import Run, apply
from netcalc.ops import find
from netcalc.tensor_type import TensorType

Arrays = Mapping[str, np.ndarray]


class Made:
    """A graph under construction, with inputs and stored tensors by name."""

    def __init__(self) -> None:
        self.graph = Graph("test")
        self.build = Builder(self.graph)

    def input(self, name: str, *shape: Any, dtype: Any = "float32") -> Value:
        self.graph.inputs[name] = Value(TensorType(shape, dtype), name)
        return self.graph.inputs[name]

    def stored(self, path: str, *shape: int, **options: Any) -> Value:
        self.graph.tensors[path] = StoredTensor(TensorType(shape), **options)
        return Value(TensorType(shape), path, Stored(path))

    def line(self, operation: str, *inputs: Value | None, **attributes: Any) -> Value:
        return self.build.line(operation, inputs, attributes)

    def done(self, **outputs: Value) -> Graph:
        self.graph.outputs = {name: self.build.read(value) for name, value in outputs.items()}
        return self.graph


def operations(graph: Graph) -> list[str]:
    """Return the operations of a graph, in order."""
    return [line.operation for line in graph.lines]


def values(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Return the outputs of a graph for inputs and tensors that depend on their names alone."""
    known: dict[Value, np.ndarray] = {value: drawn(name, value.type, seed) for name, value in graph.inputs.items()}
    for line in graph.lines:
        results = _run(graph, line, tuple(None if value is None else known[value] for value in line.inputs), seed)
        for value, result in zip(line.outputs, results, strict=True):
            assert result.shape == value.type.shape
            known[value] = result
    return {name: known[value] for name, value in graph.outputs.items()}


def _run(graph: Graph, line: Line, inputs: tuple[np.ndarray | None, ...], seed: int) -> tuple[np.ndarray, ...]:
    parameters = {name: _tensor(graph, stored, seed) for name, stored in line.parameters.items()}
    if line.operation in ("parameter", "buffer"):
        return (parameters[""],)
    declared = find(line.operation)
    assert declared is not None
    return apply(declared(**line.attributes), Run(), inputs, parameters)


def _tensor(graph: Graph, stored: Stored, seed: int) -> np.ndarray:
    tensor = graph.tensors[stored.path]
    array = drawn(stored.path, tensor.type, seed) if tensor.value is None else np.asarray(tensor.value, np.float32)
    array = array if stored.part is None else array[slice(*stored.part)]
    return np.swapaxes(array, -1, -2) if stored.transpose else array


def drawn(name: str, type_: TensorType, seed: int) -> np.ndarray:
    """Return a tensor that depends on its name and type alone."""
    rng = np.random.default_rng([seed, *name.encode()])
    if type_.dtype == "bool":
        return rng.random(type_.shape) < 0.7
    if not type_.is_float:
        return rng.integers(0, 5, type_.shape)
    return rng.standard_normal(type_.shape).astype(np.float32)


def assert_same(make: Callable[[], Graph], simplify: Callable[[Graph], None], tolerance: float = 1e-5) -> Graph:
    """Simplify a graph, compare its values with those of the graph as made, and return it."""
    graph = make()
    simplify(graph)
    for name, value in values(make()).items():
        np.testing.assert_allclose(values(graph)[name], value, rtol=tolerance, atol=tolerance)
    return graph
