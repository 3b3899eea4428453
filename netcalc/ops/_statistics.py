"""Parameters and work shared by the normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim
from netcalc.opdef import ONES, ZEROS, Param, RuleError, Term, ports, same_shape
from netcalc.tensor_type import TensorType

#: The inputs of norms: weight and bias may be computed by other lines.
NORM_INPUTS = ports("input", "weight?", "bias?")


def check_given(name: str, shape: Sequence[Dim], x: TensorType, **tensors: TensorType | None) -> None:
    """Raise RuleError unless given tensors of a norm have its shape, and the type of ``x`` or of its arithmetic."""
    for tensor_name, tensor in tensors.items():
        if tensor is None:
            continue
        narrow = x.dtype in ("float16", "bfloat16")
        if tensor.dtype != x.dtype and not (narrow and tensor.dtype == "float32"):
            types = f"{x.dtype} or float32" if narrow else f"{x.dtype}, as its input"
            raise RuleError(f"{name} takes a {tensor_name} of {types}, and not of {tensor.dtype}", code="E402")
        if not same_shape(tensor.shape, shape):
            expected = TensorType(tuple(shape))
            raise RuleError(f"{name} takes a {tensor_name} of {expected}, and this is {tensor}")


def has_affine(op: Any, inputs: Sequence[Any]) -> tuple[bool, bool]:
    """Return True for a weight, and for a bias, that a norm has for its inputs: a learned one, or an input."""
    given = op.named(inputs)
    return op.affine or "weight" in given, (op.affine and op.bias) or "bias" in given


def learned_affine(
    op: Any, shape: Sequence[Dim], weight: TensorType | None, bias: TensorType | None
) -> tuple[Param, ...]:
    """Return the weight and the bias that a norm learns: those that are no inputs."""
    return affine_params(shape, op.affine and weight is None, op.affine and op.bias and bias is None)


def affine_params(shape: Sequence[Dim], weight: bool, bias: bool) -> tuple[Param, ...]:
    """Return the learned scale and shift, each if requested; initially the identity."""
    both = (Param("weight", tuple(shape), ONES), Param("bias", tuple(shape), ZEROS))
    return tuple(param for param, learned in zip(both, (weight, bias), strict=True) if learned)


def moments(values: Dim, **groups: Dim) -> tuple[Term, ...]:
    """Return the work of mean, centering and variance of ``values`` numbers in each group."""
    return (
        Term.of("add", "mean", **groups, sums=values - 1),
        Term.of("div", "mean", **groups),
        Term.of("add", "center", **groups, values=values),
        Term.of("mul", "square", **groups, values=values),
        Term.of("add", "variance", **groups, sums=values - 1),
        Term.of("div", "variance", **groups),
    )


def reciprocal_root(**groups: Dim) -> tuple[Term, ...]:
    """Return the work of 1/√(v + ε) for each group."""
    return (
        Term.of("add", "epsilon", **groups),
        Term.of("transcendental", "root", **groups),
        Term.of("div", "reciprocal", **groups),
    )


def affine_terms(weight: bool, bias: bool, **elements: Dim) -> tuple[Term, ...]:
    """Return the work of the learned scale and shift: one multiplication and one addition per element."""
    both = (Term.of("mul", "scale", **elements), Term.of("add", "bias", **elements))
    return tuple(term for term, learned in zip(both, (weight, bias), strict=True) if learned)
