"""Spec documents of graphs."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.model import Graph
from netcalc.formats.graph.stored import place_tensors
from netcalc.formats.graph.tree import tree_of
from netcalc.formats.graph.writing import Body, written_body

__all__ = ["spec_document"]


def spec_document(graph: Graph) -> dict[str, Any]:
    """Return the document of a spec for a graph, as data that :func:`netcalc.load_data` reads."""
    root = tree_of(graph)
    place_tensors(graph, root)
    body = Body(root.items, graph.inputs, graph.outputs)
    lines, checkpoint, outputs = written_body(body)
    document: dict[str, Any] = {"netcalc": 1, "name": graph.name}
    if graph.source:
        document["source"] = graph.source
    if graph.dims:
        document["dims"] = dict(graph.dims)
    document["inputs"] = {name: _input(value.type.shape, value.type.dtype) for name, value in graph.inputs.items()}
    document["layers"] = lines
    document["outputs"] = outputs
    if checkpoint:
        document["checkpoint"] = checkpoint
    return document


def _input(shape: tuple[Any, ...], dtype: str) -> Any:
    sizes = [size if isinstance(size, int) else str(size) for size in shape]
    return sizes if dtype == "float32" else {"shape": sizes, "dtype": dtype}
