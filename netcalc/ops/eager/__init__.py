"""Declarations of eager execution: tensors that PyTorch's CPU kernels allocate beside an operation's outputs, and keep.

The modules mirror :mod:`netcalc.ops`, one a family.  Allocations follow what a dispatch mode of PyTorch sees in
inference without autograd; memory within a kernel is not seen.  What is kept for a backward pass is what autograd's
hooks for saved tensors see, and what a backward pass allocates what PyTorch's profiler sees.  An operation without a
declaration is one kernel that allocates its outputs, and keeps what :mod:`netcalc.ops.backward` declares; its backward
pass is one kernel too, which allocates the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from netcalc.dims import Dim, integer
from netcalc.dtypes import ITEMSIZE, DType
from netcalc.opdef import Operation, Param
from netcalc.ops import modules
from netcalc.ops.backward import BackwardCall, Saved, Source
from netcalc.options import AttentionKernel
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType

__all__ = ["EAGER", "Eager", "EagerCall", "Moment", "Work", "declaration", "eager", "work_bytes"]

#: Families with operations that allocate more than their outputs.
_DECLARED = (
    "activation",
    "adaptive_pool",
    "arithmetic",
    "attention",
    "batch_norm",
    "class_loss",
    "conv",
    "conv_transpose",
    "dropout",
    "elementwise",
    "gated_units",
    "linear",
    "lp_pool",
    "matmul",
    "max_pool",
    "norm",
    "position",
    "recurrent",
    "rectifier",
    "rotary",
    "routing",
    "scan",
)


class Work(NamedTuple):
    """A tensor beside the outputs: an intermediate result of several kernels, or an output that nobody asked for."""

    name: str
    type: TensorType


def work_bytes(buffers: Iterable[Work]) -> int:
    """Return the bytes of work tensors.

    Raises:
        UndecidedError: if a size is symbolic.
    """
    return sum(integer(buffer.type.elements) * ITEMSIZE[buffer.type.dtype] for buffer in buffers)


class Moment(NamedTuple):
    """Memory of an operation at one moment, beside its inputs: work tensors, and its outputs if they exist yet."""

    work: tuple[Work, ...] = ()
    outputs: bool = True


@dataclass(frozen=True, slots=True)
class EagerCall:
    """Call of an operation in eager mode.

    ``orders`` are the axes of each input in the order of memory, the innermost last.  ``contiguous`` tells for each if
    it lies in memory without gaps in the order of its axes.  ``copied(i, a, b, …)`` is the shape of the last copy that
    is made of input i if it takes the shapes a, b, …, one after the other, by broadcasting or in another shape of as
    many elements; None if the last one is a view of the input.  ``attention`` is the kernel of attention, ``masks`` the
    element type in which the reference makes masks of numbers, None for that of queries.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    params: tuple[Param, ...]
    orders: tuple[tuple[int, ...], ...]
    contiguous: tuple[bool, ...]
    copied: Callable[..., tuple[Dim, ...] | None]
    training: bool = False
    attention: AttentionKernel = "sdpa-cpu"
    masks: DType | None = None

    @property
    def mask_of_dropout(self) -> DType:
        """Element type of the mask that dropout keeps: on GPUs, where FlashAttention runs, truth values."""
        return "bool" if self.attention == "flash" else self.outputs[0].dtype

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

    def returns_input(self, op: Any) -> bool:
        """Return True if the output is the first input itself, also in training."""
        return False

    def saves(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        """Return the tensors that PyTorch's kernels keep for a backward pass; None for those that it declares."""
        return None

    def order(self, op: Any, call: EagerCall) -> Sequence[int] | None:
        """Return the axes of the first output in the order of memory, the innermost last; None for their own order."""
        return None

    def passes_on(self, op: Any, call: EagerCall, source: Source) -> bool:
        """Return True if the gradient of an input or parameter is the gradient of the first output, or a view of it."""
        return bool(op.view) and op.name not in _COPYING

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        """Return what the backward pass holds beside gradients, moment by moment.

        The outputs of a moment are the gradients that it computes.
        """
        return (Moment(),)


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


#: Views whose gradient is made of parts: zeros with the gradient in a part, the gradients of all parts, or a sum.
_COPYING = frozenset({"slice", "select", "split", "chunk", "expand", "real", "imag"})

_ONE_KERNEL = Eager()
