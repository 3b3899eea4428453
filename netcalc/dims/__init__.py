"""Dimensions: exact integers, or integer polynomials over named sizes.

A shape or cost rule is written once, with ordinary operators, and serves both: given ints it computes
ints, given a :class:`Poly` it computes a canonical polynomial, so that two sizes are equal exactly when
their forms are.  Floor division, minimum and maximum that cannot be resolved become atoms of their own.

>>> h = symbol("h", default=224)
>>> str((h + 2 * 3 - 7) // 2 + 1)
'(h + 1)//2'
>>> ((h + 2 * 3 - 7) // 2 + 1).at({"h": 224})
112

An order that the form leaves open (is ``h >= 7``?) is decided at the sizes' default values, and the decision
is noted as an *assumption* in the innermost :func:`assumptions` block, the way a tracing compiler guards a
specialised graph.
"""

from netcalc.dims.atoms import UndecidedError, value_at
from netcalc.dims.division import ceil_div, exact_div
from netcalc.dims.order import assumptions
from netcalc.dims.polynomial import Dim, Poly, ceil_log2, maximum, minimum, product, symbol

__all__ = [
    "Dim",
    "Poly",
    "UndecidedError",
    "assumptions",
    "ceil_div",
    "ceil_log2",
    "exact_div",
    "maximum",
    "minimum",
    "product",
    "symbol",
    "value_at",
]
