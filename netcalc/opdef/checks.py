"""Checks that many rules share."""

from collections.abc import Iterable, Sequence

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, Poly, equal, may_be_zero
from netcalc.tensor_type import TensorType


def as_tuple(result: TensorType | tuple[TensorType, ...]) -> tuple[TensorType, ...]:
    """Return the outputs of ``infer`` as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def require_some(size: Dim, what: str) -> None:
    """Raise RuleError if a size is 0; a symbolic size that may be 0 is compared at its default."""
    if size == 0 or (isinstance(size, Poly) and may_be_zero(size) and size < 1):
        raise RuleError(f"{what} takes at least 1 element, and there are none")


def same_shape(shape: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Return True if two shapes are equal, where :func:`netcalc.dims.equal` compares their sizes."""
    return len(shape) == len(other) and all(map(equal, shape, other))


def require_float(x: TensorType, what: str) -> None:
    """Raise RuleError (E402) unless ``x`` holds floating-point numbers, or complex ones if the operation takes them."""
    if not x.is_inexact:
        raise RuleError(f"{what} takes floating-point numbers, and its input is {x.dtype}", code="E402")


def require_rank(x: TensorType, ranks: int | Iterable[int], what: str) -> None:
    """Raise RuleError unless ``x`` has one of these ranks."""
    allowed = (ranks,) if isinstance(ranks, int) else tuple(ranks)
    if x.rank not in allowed:
        choices = " or ".join(map(str, allowed))
        raise RuleError(f"{what} takes an input of {choices} dimensions, and this one has {x.rank}: {x}")


def normal_axis(axis: int, rank: int, what: str) -> int:
    """Return ``axis`` counted from the front; RuleError if the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise RuleError(f"{what}: no axis {axis} in a tensor of {rank} dimensions")
    return axis % rank
