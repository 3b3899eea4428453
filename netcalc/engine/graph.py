"""The graph of a program: one flat list of nodes, with repeats unrolled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import numpy_dtype
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.tensor_type import TensorType


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor of the unrolled program."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.elements * self.dtype.itemsize


@dataclass(eq=False, slots=True)
class GraphNode:
    """An operation of the unrolled program.

    ``after`` are the operations fused onto it: they are applied to its first output while that is in the cache.
    """

    instance: Instance
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    after: list[GraphNode] = field(default_factory=list)
    #: True if the outputs are the same in every run, and small enough to be kept.
    constant: bool = False

    @property
    def op(self) -> Any:
        """The operation."""
        return self.instance.node.op

    @property
    def operand(self) -> Tensor:
        """The first input."""
        operand = self.inputs[0]
        assert operand is not None
        return operand

    @property
    def result(self) -> Tensor:
        """The first output, after all fused operations."""
        return self.after[-1].outputs[0] if self.after else self.outputs[0]


@dataclass(slots=True)
class Graph:
    """A flat program."""

    inputs: list[Tensor]
    nodes: list[GraphNode]
    outputs: list[Tensor]

    def uses(self) -> dict[Tensor, int]:
        """Return the number of uses of each tensor, as an input of a node or an output of the program."""
        counts: dict[Tensor, int] = {}
        inputs: Iterable[Tensor | None] = (t for node in self.nodes for t in node.inputs)
        for tensor in (*inputs, *self.outputs):
            if tensor is not None:
                counts[tensor] = counts.get(tensor, 0) + 1
        return counts


def flatten(program: Program) -> Graph:
    """Return the graph of a program.

    Raises:
        UndecidedError: if a size is symbolic.
    """
    inputs = [_tensor(spec.type) for spec in program.inputs]
    nodes: list[GraphNode] = []

    def add(instance: Instance, operands: Sequence[Tensor | None]) -> list[Tensor]:
        results = [_tensor(type_) for type_ in instance.node.output_types]
        nodes.append(GraphNode(instance, list(operands), results))
        return results

    outputs = unroll(program, inputs, add)
    return Graph(inputs, nodes, outputs)


def _tensor(type_: TensorType) -> Tensor:
    return Tensor(tuple(integer(size) for size in type_.shape), numpy_dtype(type_.dtype))
