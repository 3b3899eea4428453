"""Declarations of backward passes: what an operation saves and the work of its vector-Jacobian product.

The modules mirror :mod:`netcalc.ops`, one a family; a module is imported when a backward pass of one of its operations
is first counted.  A declaration names the derivatives, the tensors that the forward pass saves, and the work in terms,
as ``Operation.cost`` does for the forward pass.  The products themselves are in :mod:`netcalc.numerics.vjps`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.dtypes import COMPLEX, FLOATS, DType
from netcalc.opdef import Operation, Param, Term
from netcalc.ops import modules
from netcalc.ops.backward.no_gradient import NO_GRADIENT
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType

__all__ = [
    "BACKWARD",
    "NO_GRADIENT",
    "Backward",
    "BackwardCall",
    "Saved",
    "Source",
    "backward",
    "declaration",
    "differentiable",
    "gradient_modules",
    "require_real",
]

#: What a gradient belongs to: the position of an input among the operation's inputs, or the name of a parameter.
Source: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor that the forward pass keeps for the product.

    ``name`` is the name of PyTorch's saved tensor (``self``, ``weight``, ``result``, ``result1``).  ``kind`` tells
    where it comes from: the input at position ``index``, the output at position ``index``, the parameter of the name
    ``parameter``, or a ``kept`` tensor of its own (a mask, statistics) that the kernel computes on its way.  Kept
    tensors of equal ``table`` are one: a table that is computed once for several operations.
    """

    name: str
    kind: Literal["input", "output", "parameter", "kept"]
    type: TensorType
    index: int = 0
    parameter: str = ""
    table: Hashable = None


@dataclass(frozen=True, slots=True)
class BackwardCall:
    """The backward pass of one operation: types, and which gradients are given and wanted.

    ``inputs`` are None for an optional input that is absent.  ``wanted`` are the inputs and parameters whose gradients
    are computed, ``given`` tells for each output if a gradient arrives for it; one without is zero.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    params: tuple[Param, ...] = ()
    wanted: frozenset[Source] = frozenset()
    given: tuple[bool, ...] = (True,)
    training: bool = False

    def wants(self, *sources: Source) -> bool:
        """Return True if the gradient of one of these inputs and parameters is computed."""
        return any(source in self.wanted for source in sources)

    def input(self, index: int = 0) -> TensorType:
        """Return the type of an input that is present."""
        type_ = self.inputs[index]
        assert type_ is not None
        return type_

    def present(self, index: int) -> bool:
        """Return True if there is an input at this position."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def param(self, name: str) -> Param | None:
        """Return the parameter of this name, or None if the operation has none."""
        return next((param for param in self.params if param.name == name), None)

    # -- saved tensors, by where they come from ------------------------------------------------------

    def saved_input(self, name: str, index: int = 0) -> Saved:
        """Return an input as a saved tensor."""
        return Saved(name, "input", self.input(index), index)

    def saved_output(self, name: str, index: int = 0) -> Saved:
        """Return an output as a saved tensor."""
        return Saved(name, "output", self.outputs[index], index)

    def saved_parameter(self, name: str, parameter: str) -> Saved:
        """Return a parameter or buffer as a saved tensor."""
        param = self.param(parameter)
        assert param is not None
        like = next((t for t in self.inputs if t is not None and t.dtype in FLOATS), self.outputs[0])
        return Saved(name, "parameter", TensorType(param.shape, param.dtype or like.dtype), parameter=parameter)

    def saved_kept(self, name: str, *shape: Any, dtype: Any = None, table: Hashable = None) -> Saved:
        """Return a tensor that the kernel keeps, of the first output's element type unless given."""
        return Saved(name, "kept", TensorType(tuple(shape), dtype or self.outputs[0].dtype), table=table)


class Backward:
    """The base of declarations; a subclass declares the backward pass of one operation or of several.

    ``rule`` gives the derivatives in formulas, one a line, where L is the loss, x the input and y the output.
    """

    rule: tuple[str, ...] = ()
    #: The tensors that the forward pass keeps whatever is wanted: ``self`` is the input, ``result`` the first output.
    saved: tuple[Literal["self", "result"], ...] = ()
    #: Positions of inputs whose gradients are zeros although the outputs depend on them, as in PyTorch.
    constants: frozenset[int] = frozenset()
    #: The fused kernel whose backward pass has other work, in words.
    fused_kernel: str = ""
    #: What that kernel computes otherwise, in formulas, one a line.
    fused_rule: tuple[str, ...] = ()
    #: The input is a symmetric matrix, of which a triangle is read.
    symmetric: bool = False

    def derivatives(self, op: Any) -> tuple[str, ...]:
        """Return the formulas of the derivatives, one a line."""
        return self.rule

    def is_fused(self, op: Any, call: BackwardCall) -> bool:
        """Return True for an operation with a fused kernel whose backward pass has other work, :meth:`fused_cost`."""
        return False

    def fused_cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        """Return the work of the backward pass of the fused kernel."""
        raise NotImplementedError

    def fused_saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        """Return the tensors that the forward pass of the fused kernel saves."""
        raise NotImplementedError

    def differentiable(self, op: Any, call: BackwardCall) -> tuple[bool, ...]:
        """Return for each output True if gradients flow through it: floating-point outputs, unless overridden."""
        return tuple(type_.dtype in FLOATS for type_ in call.outputs)

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        """Return the tensors that the forward pass keeps for these gradients; those of ``saved``, unless overridden."""
        return tuple(call.saved_input(name) if name == "self" else call.saved_output(name) for name in self.saved)

    def differs(self, op: Any) -> str:
        """Return in which way gradients are not the derivatives of outputs, as in PyTorch; nothing if they are."""
        return ""

    def untrained_row(self, op: Any) -> int | None:
        """Return the row of the ``weight`` that has no gradient, as in PyTorch; None if all have one."""
        return None

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        """Return the work of the product as terms, only for wanted gradients and from gradients that arrive."""
        raise NotImplementedError(op.name)


def gradient_modules(package: str) -> dict[str, str]:
    """Return the module of each operation with a gradient in a package that has one module a family."""
    return {name: module for name, module in modules(package).items() if name not in NO_GRADIENT}


def require_real(
    name: str,
    wanted: Collection[Source],
    types: Iterable[TensorType | None],
    params: Iterable[DType],
    span: Span | None,
) -> None:
    """Raise NetcalcError (E604) for a gradient through complex numbers, which would be lost without a word.

    Args:
        name: name of the operation.
        wanted: the gradients that it computes.
        types: the types of its inputs and outputs.
        params: the types of its trained parameters.
        span: its place in the spec.
    """
    through = len(wanted) > 0 and any(type_ is not None and type_.is_complex for type_ in types)
    if through or any(dtype in COMPLEX for dtype in params):
        message = f"gradients of complex numbers are not computed, and {name} takes or gives some"
        raise NetcalcError(Diagnostic("E604", message, span))


BACKWARD: Registry[Backward] = Registry("backward pass", gradient_modules("netcalc.ops.backward"))


def backward(*names: str) -> Any:
    """Return a class decorator that registers an instance as the declaration of each operation named."""

    def register(declared: type[Backward]) -> type[Backward]:
        BACKWARD.register(*names)(declared())
        return declared

    return register


def declaration(op: Operation) -> Backward | None:
    """Return the declaration of the backward pass of an operation; None if it has no gradient."""
    return BACKWARD.get(op.name)


def differentiable(type_: TensorType | None) -> bool:
    """Return True for an input of an element type that has gradients."""
    return type_ is not None and type_.dtype in FLOATS
