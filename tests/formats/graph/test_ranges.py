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


def test_positions_along_axes() -> None:
    graph = Graph("net")
    types = {name: TensorType((2, 6), "int64") for name in ("mask", "order", "places")} | {"x": TensorType((2, 9))}
    graph.inputs = {name: Value(type_, name) for name, type_ in types.items()}
    build = Builder(graph)
    build.line("cast", [graph.inputs["mask"]], {"dtype": "bool"})  # any number is true or false
    build.line("gather", [graph.inputs["x"], graph.inputs["order"]], {"axis": -1})
    build.line("index", [graph.inputs["x"], graph.inputs["places"]], {"axis": [1]})
    assert index_ranges(graph) == {"order": [0, 9], "places": [-9, 9]}


def test_a_mask_of_tokens() -> None:
    graph = Graph("net", tensors={"table": StoredTensor(TensorType((5, 4)))})
    shapes = {"ids": (2, 6), "mask": (2, 6), "counts": (2, 3)}
    graph.inputs = {name: Value(TensorType(shape, "int64"), name) for name, shape in shapes.items()}
    build = Builder(graph)
    table = Value(TensorType((5, 4)), stored=Stored("table"))
    build.line("embedding", [graph.inputs["ids"]], {"num_embeddings": 5, "embedding_dim": 4}, {"weight": table})
    build.line("cast", [graph.inputs["mask"]], {"dtype": "bool"})
    build.line("equal", [graph.inputs["counts"]], {"value": 0})
    assert index_ranges(graph) == {"ids": [0, 5], "mask": [0, 2]}


def test_offsets_of_bags_are_no_indices_of_the_table() -> None:
    graph = Graph("net", tensors={"table": StoredTensor(TensorType((5, 4)))})
    graph.inputs = {name: Value(TensorType((7,), "int64"), name) for name in ("ids", "offsets")}
    table = Value(TensorType((5, 4)), stored=Stored("table"))
    inputs = [graph.inputs["ids"], graph.inputs["offsets"]]
    Builder(graph).line("embedding_bag", inputs, {"num_embeddings": 5, "embedding_dim": 4}, {"weight": table})
    assert index_ranges(graph) == {"ids": [0, 5]}
