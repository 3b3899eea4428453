"""Tensors of a model: values of the graph, which have the channels of images as axis 1 where layers take them so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netcalc.dims import Dim
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.model import Value
from netcalc.tensor_type import TensorType


@dataclass(eq=False, slots=True)
class Operand:
    """A tensor of a model.

    Attributes:
        value: the value of the graph.
        first: True if its last axis is axis 1 of the value.
        mask: values that are true at the steps that count, (batch, steps); None if all do.
    """

    value: Value
    first: bool = False
    mask: Value | None = None

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.value.type.rank

    @property
    def type(self) -> TensorType:
        """Type with the axes in the order of Keras."""
        return self.value.type.with_shape(*self.shape)

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Shape with the axes in the order of Keras."""
        shape = self.value.type.shape
        return (shape[0], *shape[2:], shape[1]) if self.first else shape

    def axis(self, axis: int) -> int:
        """Return the axis of the value that an axis in the order of Keras, from 0 on, is."""
        if not self.first or axis == 0:
            return axis
        return 1 if axis == self.rank - 1 else axis + 1


class Layouts:
    """Conversions between the two orders of axes, each added to the graph once."""

    def __init__(self, build: Builder) -> None:
        self._build = build
        self._other: dict[Value, Value] = {}

    def last(self, operand: Operand) -> Value:
        """Return a value with the axes in the order of Keras."""
        return self._turned(operand.value, range(2, operand.rank), (1,)) if operand.first else operand.value

    def first(self, operand: Operand) -> Value:
        """Return a value whose axis 1 is the last axis of Keras."""
        if operand.first or operand.rank < 3:
            return operand.value
        return self._turned(operand.value, (operand.rank - 1,), range(1, operand.rank - 1))

    def together(self, operands: Sequence[Operand]) -> tuple[list[Value], bool]:
        """Return values with equal orders of axes, and True if they have channels as axis 1."""
        rank = operands[0].rank
        first = any(operand.first for operand in operands) and all(operand.rank == rank for operand in operands)
        return [self.first(operand) if first else self.last(operand) for operand in operands], first

    def _turned(self, value: Value, *parts: Sequence[int]) -> Value:
        if value not in self._other:
            turned = permuted(self._build, value, [0, *(axis for part in parts for axis in part)])
            self._other[value], self._other[turned] = turned, value
        return self._other[value]
