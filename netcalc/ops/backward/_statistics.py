"""Work and saved tensors that backward passes of normalizations share."""

from __future__ import annotations

from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.opdef import Term
from netcalc.tensor_type import TensorType


def wide_dtype(x: TensorType) -> DType:
    """Return the element type of the arithmetic on ``x``: float32 for float16 and bfloat16."""
    return "float32" if x.dtype in ("float16", "bfloat16") else x.dtype


def normal_terms(**elements: Dim) -> tuple[Term, ...]:
    """Return the work of the normalized input from the input and its saved statistics."""
    return Term.of("add", "center", **elements), Term.of("mul", "normalize", **elements)


def through_statistics(values: Dim, *, centered: bool = True, **groups: Dim) -> tuple[Term, ...]:
    """Return the work of (h − mean(h) − x̂·mean(h·x̂))/√(v + ε) for groups of ``values`` numbers.

    Without ``centered`` the statistics have no mean, and mean(h) is not subtracted.
    """
    every = {**groups, "values": values}
    mean = (Term.of("add", "mean", **groups, sums=values - 1), Term.of("div", "mean", **groups))
    return (
        Term.of("mul", "product with normalized", **every),
        *mean,
        Term.of("mul", "through variance", **every),
        Term.of("add", "through variance", **every),
        *((*mean, Term.of("add", "through mean", **every)) if centered else ()),
        Term.of("mul", "by root", **every),
    )
