"""Independent references of operations: their definitions, element by element, one module a family.

A reference computes single elements of the outputs from the inputs, by loops or by another formula than the kernel,
in double precision::

    @reference("linear")
    def linear(op, x, *, weight, bias=None):
        def at(index):
            *lead, unit = index
            return total(weight[unit], x[tuple(lead)]) + (0 if bias is None else bias[unit])

        return Expected((*x.shape[:-1], op.out), x.dtype.name, at, 2 * x.shape[-1])

It also derives shapes and element types itself.  It therefore shares nothing with shape rules, kernels and lowerings
but the attributes: it takes :class:`Attributes` in place of the operation, and imports nothing from ``ops``,
``numerics.kernels`` and ``engine``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from netcalc import ops
from netcalc.registry import Registry

__all__ = [
    "PARAMETERS",
    "REFERENCES",
    "TABLES",
    "UPDATES",
    "Attributes",
    "Expected",
    "Shape",
    "Value",
    "parameters",
    "reference",
    "table",
    "updates",
]

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = tuple[int, ...]


class Value(NamedTuple):
    """A value, and the sum of the magnitudes of the terms that it adds up, to which rounding errors are relative.

    ``largest`` bounds the numbers that the arithmetic may meet on the way to the value, if they can be larger than the
    terms.  Without terms that cancel, ``at`` returns plain numbers.
    """

    value: Any
    magnitude: float
    largest: float = 0.0


class Expected(NamedTuple):
    """Output by the definition of an operation: shape, element type, and the element at an index.

    ``at`` is None if the values are random or without meaning, such as dropout in training mode.  ``reads`` is the
    number of elements of inputs and parameters that a call of it reads, which limits the number of calls.
    """

    shape: Shape
    dtype: str
    at: Callable[[Shape], Any] | None
    reads: int = 1


class Attributes:
    """The attributes of an operation as written, its name, and the mode of the run, without its rules."""

    def __init__(self, op: Any, *, training: bool, dtype: str) -> None:
        self.name: str = op.name
        self.training = training
        self.dtype = dtype  # of the program, for outputs whose type no input determines
        for field in type(op).model_fields:
            setattr(self, field, getattr(op, field))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.name} has no attribute {name!r}")


#: ``(attributes, *inputs, **parameters) -> Expected``, or a tuple of them; an absent optional input is None.
Reference: TypeAlias = Callable[..., Expected | tuple[Expected, ...]]
#: ``(attributes, *shapes of the inputs) -> shapes of the parameters and buffers by name``.
ParameterShapes: TypeAlias = Callable[..., Mapping[str, Sequence[int]]]

#: ``(attributes, *inputs, **parameters) -> the new contents of the buffers that a run changes, by name``.
Updates: TypeAlias = Callable[..., Mapping[str, Expected]]
#: ``(attributes, name, shape) -> Expected``: the initial content of a parameter or buffer with a fixed formula.
Table: TypeAlias = Callable[[Attributes, str, Shape], Expected]

_MODULES = ops.modules(__name__)
REFERENCES: Registry[Reference] = Registry("reference", _MODULES)
PARAMETERS: Registry[ParameterShapes] = Registry("parameter shape", _MODULES)
UPDATES: Registry[Updates] = Registry("update", _MODULES)
TABLES: Registry[Table] = Registry("table reference", _MODULES)
#: Decorators that register a reference, the shapes of parameters, the updates of buffers, or the contents of tables,
#: under the names of its operations.  An operation without an entry has no parameters, updates or tables.
reference = REFERENCES.register
parameters = PARAMETERS.register
updates = UPDATES.register
table = TABLES.register
