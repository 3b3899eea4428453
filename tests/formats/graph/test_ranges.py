"""Ranges of the indices that inputs hold."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Stored, StoredTensor, Value
from netcalc.formats.graph.ranges import index_ranges
from netcalc.tensor_type import TensorType


def test_indices_lie_within_the_smallest_table() -> None:
    graph = Graph("net")
    types = {"ids": TensorType((2, 6), "int64"), "counts": TensorType((2, 6), "int64"), "x": TensorType((2, 6))}
    graph.inputs = {name: Value(type_, name) for name, type_ in types.items()}
    build = Builder(graph)
    for name, rows in (("large", 30), ("small", 20)):
        table = TensorType((rows, 4), "float32")
        graph.tensors[name] = StoredTensor(table)
        ids = build.line("unflatten", [graph.inputs["ids"]], {"axis": 1, "sizes": [2, 3]})
        attributes = {"num_embeddings": rows, "embedding_dim": 4}
        build.line("embedding", [ids], attributes, {"weight": Value(table, name, Stored(name))})
    build.line("add", [graph.inputs["counts"]], {"value": 1})
    assert index_ranges(graph) == {"ids": [0, 20]}


def test_flags_and_positions_along_axes() -> None:
    graph = Graph("net")
    types = {name: TensorType((2, 6), "int64") for name in ("mask", "padded", "order")} | {"x": TensorType((2, 9))}
    graph.inputs = {name: Value(type_, name) for name, type_ in types.items()}
    build = Builder(graph)
    build.line("cast", [graph.inputs["mask"]], {"dtype": "bool"})
    build.line("equal", [graph.inputs["padded"]], {"value": 0})
    build.line("gather", [graph.inputs["x"], graph.inputs["order"]], {"axis": -1})
    assert index_ranges(graph) == {"mask": [0, 2], "padded": [0, 2], "order": [0, 9]}
