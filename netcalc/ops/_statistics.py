"""Parameters and work shared by the normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import ONES, ZEROS, Param, Term


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
