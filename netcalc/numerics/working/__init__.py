"""The working of layers in numbers: what one element or row of an output is made of, one module a family.

A rule takes a :class:`Call`, the operation with the arrays of one execution, and yields lines of working::

    @working("softmax")
    def softmax(call: Call) -> Iterator[WorkingLine]:
        ...

It works in float64 from the definition of the operation, and ends in the element that the kernel computed.  An
operation without a rule has its inputs and outputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from netcalc import ops
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.opdef import Operation, WorkingLine
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType

#: Families of operations with rules.
FAMILIES = (
    "norm",
    "batch_norm",
    "softmax",
    "conv",
    "attention",
    "linear",
    "max_pool",
    "avg_pool",
    "global_pool",
    "recurrent",
)


@dataclass(frozen=True, slots=True)
class Call:
    """Execution of an operation: arrays by position and by name, and the place in the output that is explained."""

    op: Operation
    inputs: Sequence[Array | None]
    params: Mapping[str, Array]
    outputs: Sequence[Array]
    at: tuple[int, ...] = ()
    training: bool = False
    arrived: Sequence[Array | None] = ()
    """Gradients of the loss with respect to the outputs; empty without a backward pass."""
    sent: Mapping[int | str, Array] = field(default_factory=dict)
    """Gradients of inputs by position, and of parameters by name."""

    @property
    def x(self) -> Array:
        """The first input in float64."""
        return self.wide(self.inputs[0])

    def wide(self, array: Array | None) -> Array:
        """Return an array in float64."""
        return np.asarray(array, np.float64)

    def optional(self, name: str, position: int) -> Array | None:
        """Return a parameter in float64, or the input in its place; None if there is neither."""
        array = self.params.get(name)
        if array is None and len(self.inputs) > position:
            array = self.inputs[position]
        return None if array is None else np.asarray(array, np.float64)

    def place(self, shape: Sequence[int], default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return the index within axes of a shape that ``at`` names; by default the first of each axis.

        Raises:
            NetcalcError: E502 for an index that the shape does not have.
        """
        given = self.at[: len(shape)]
        fits = all(0 <= index < size for index, size in zip(given, shape, strict=False))
        if not fits or len(self.at) > self.outputs[0].ndim:
            shown = ",".join(map(str, self.at))
            message = f"--at {shown}: the output of {self.op.name} is {TensorType(self.outputs[0].shape)}"
            raise NetcalcError(Diagnostic("E502", message, hint="indices begin with 0"))
        rest = default or (0,) * len(shape)
        return (*given, *rest[len(given) :])


Rule: TypeAlias = Callable[[Call], Iterator[WorkingLine]]
WORKINGS: Registry[Rule] = Registry("working", ops.modules("netcalc.numerics.working", FAMILIES))
#: Decorator that registers a rule under the names of its operations.
working = WORKINGS.register
