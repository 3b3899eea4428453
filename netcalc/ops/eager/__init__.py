"""Declarations of eager execution: tensors that PyTorch's CPU kernels allocate beside an operation's outputs.

The modules mirror :mod:`netcalc.ops`, one a family.  They follow what a dispatch mode of PyTorch sees in inference
without autograd; memory within a kernel is not seen.  An operation without a declaration is one kernel that allocates
its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.opdef import Operation, Param
from netcalc.ops import modules
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType

__all__ = ["EAGER", "Eager", "EagerCall", "Moment", "Work", "declaration", "eager"]

#: Families with operations that allocate more than their outputs.
_DECLARED = (
    "activation",
    "adaptive_pool",
    "attention",
    "batch_norm",
    "conv",
    "gated_units",
    "linear",
    "lp_pool",
    "matmul",
    "max_pool",
    "norm",
    "position",
    "rectifier",
    "rotary",
)


class Work(NamedTuple):
    """A tensor beside the outputs: an intermediate result of several kernels, or an output that nobody asked for."""

    name: str
    type: TensorType


class Moment(NamedTuple):
    """Memory of an operation at one moment, beside its inputs: work tensors, and its outputs if they exist yet."""

    work: tuple[Work, ...] = ()
    outputs: bool = True


@dataclass(frozen=True, slots=True)
class EagerCall:
    """Call of an operation in eager mode.

    ``orders`` are the axes of each input in the order of memory, the innermost last.  ``contiguous`` tells for each if
    it lies in memory without gaps in the order of its axes, and ``has_view(i, a, b)`` if input i, broadcast to the
    shape a, has a view of the shape b.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    params: tuple[Param, ...]
    orders: tuple[tuple[int, ...], ...]
    contiguous: tuple[bool, ...]
    has_view: Callable[[int, Sequence[Dim], Sequence[Dim]], bool]
    training: bool = False

    def input(self, index: int = 0) -> TensorType:
        """Return the type of an input that is present."""
        type_ = self.inputs[index]
        assert type_ is not None
        return type_

    def present(self, index: int) -> bool:
        """Return True if there is an input at this position."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def has_param(self, name: str) -> bool:
        """Return True if the operation has a parameter of this name."""
        return any(param.name == name for param in self.params)

    def work(self, name: str, *shape: Dim, dtype: DType | None = None) -> Work:
        """Return a work tensor, of the first output's element type unless given."""
        return Work(name, TensorType(tuple(shape), dtype or self.outputs[0].dtype))

    def like(self, name: str, type_: TensorType | None = None) -> Work:
        """Return a work tensor of a type, by default the type of the first output."""
        return Work(name, type_ or self.outputs[0])


class Eager:
    """The base of declarations; a subclass declares one operation or several."""

    def moments(self, op: Any, call: EagerCall) -> Sequence[Moment]:
        """Return what the operation holds, moment by moment."""
        return (Moment(),)

    def order(self, op: Any, call: EagerCall) -> Sequence[int] | None:
        """Return the axes of the first output in the order of memory, the innermost last; None for their own order."""
        return None


EAGER: Registry[Eager] = Registry("eager execution", modules("netcalc.ops.eager", _DECLARED))


def eager(*names: str) -> Any:
    """Return a class decorator that registers an instance as the declaration of each operation named."""

    def register(declared: type[Eager]) -> type[Eager]:
        EAGER.register(*names)(declared())
        return declared

    return register


def declaration(op: Operation) -> Eager:
    """Return the declaration of an operation: by default of one kernel that allocates its outputs."""
    return EAGER.get(op.name) or _ONE_KERNEL


_ONE_KERNEL = Eager()
