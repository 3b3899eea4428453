"""The parameters and the work that all kinds of normalisation have in common."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import ONES, ZEROS, Param, Term


def affine_params(shape: Sequence[Dim], weight: bool, bias: bool) -> tuple[Param, ...]:
    """The learned scale and shift, each where there is one; they start as the identity."""
    both = (Param("weight", tuple(shape), ONES), Param("bias", tuple(shape), ZEROS))
    return tuple(param for param, wanted in zip(both, (weight, bias), strict=True) if wanted)


def moments(values: Dim, **groups: Dim) -> tuple[Term, ...]:
    """The mean of ``values`` numbers in each group, their differences from it, and the variance."""
    return (
        Term.of("add", "mean", **groups, sums=values - 1),
        Term.of("div", "mean", **groups),
        Term.of("add", "centre", **groups, values=values),
        Term.of("mul", "square", **groups, values=values),
        Term.of("add", "variance", **groups, sums=values - 1),
        Term.of("div", "variance", **groups),
    )


def reciprocal_root(**groups: Dim) -> tuple[Term, ...]:
    """1/√(v + ε) for each group."""
    return (
        Term.of("add", "epsilon", **groups),
        Term.of("transcendental", "root", **groups),
        Term.of("div", "reciprocal", **groups),
    )


def affine_terms(weight: bool, bias: bool, **elements: Dim) -> tuple[Term, ...]:
    """One multiplication and one addition for each element, each where it is learned."""
    both = (Term.of("mul", "scale", **elements), Term.of("add", "bias", **elements))
    return tuple(term for term, wanted in zip(both, (weight, bias), strict=True) if wanted)
