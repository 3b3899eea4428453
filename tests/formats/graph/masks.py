"""Masks as transformers builds them, from graphs of operations."""

from __future__ import annotations

from typing import Any

from netcalc.dims import Dim
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Value
from netcalc.tensor_type import TensorType


class Attention:
    """A graph of one attention, whose mask a test builds with the positions of queries and keys."""

    def __init__(self, queries: Dim = 6, keys: Dim = 6, batch: Dim = 2) -> None:
        self.graph = Graph("mask")
        self.build = Builder(self.graph)
        self.lengths = queries, keys
        self.batch = batch
        self.query = self.positions(queries, 1)
        self.key = self.positions(keys, 0)

    def line(self, operation: str, *inputs: Value, **attributes: Any) -> Value:
        return self.build.line(operation, inputs, attributes)

    def positions(self, length: Dim, axis: int) -> Value:
        """Return the positions as (1, 1, length, 1) or (1, 1, 1, length)."""
        value = self.line("add", self.line("arange", stop=length), value=0)
        for place in (0, 0, 3 if axis else 0):
            value = self.line("unsqueeze", value, axis=place)
        return value

    def input(self, name: str, *shape: Dim, dtype: Any = "float32") -> Value:
        value = self.graph.inputs[name] = Value(TensorType(shape, dtype), name)
        return value

    def attend(self, mask: Value) -> Any:
        """Add the attention, and return its line."""
        queries, keys = self.lengths
        names = {"query": queries, "key": keys, "value": keys}
        inputs = [self.input(name, self.batch, 4, length, 8) for name, length in names.items()]
        self.graph.outputs["output"] = self.build.line("scaled_dot_product_attention", [*inputs, mask])
        return self.graph.lines[-1]

    def expanded(self, mask: Value) -> Value:
        return self.line("expand", mask, shape=[self.batch, -1, *self.lengths])
