"""Dimensions: exact integers, or integer polynomials over named sizes.

A shape or cost rule is written once, with ordinary operators, for both: from ints it computes ints, from a
:class:`Poly` a polynomial in canonical form, so that sizes with equal forms are equal. Floor divisions, minima and
maxima that cannot be simplified become atoms of the polynomial.

>>> h = symbol("h", default=224)
>>> str((h + 2 * 3 - 7) // 2 + 1)
'(h + 1)//2'
>>> ((h + 2 * 3 - 7) // 2 + 1).at({"h": 224})
112

A comparison that bounds leave open (is ``h >= 7``?) is decided at the default sizes, and recorded as an
:class:`Assumption` in the innermost :func:`assumptions` block, as a tracing compiler guards a specialised graph.
Sizes of different form are taken as different, which :func:`equal` records, where ``==`` does not.

Each module imports only earlier ones: ``intervals``, ``atoms``, ``terms``, ``order``, ``polynomial``, ``functions``.
"""

from netcalc.dims.atoms import UndecidedError, value_at
from netcalc.dims.functions import ceil_div, ceil_log2, integer, narrow, product, substitute
from netcalc.dims.order import Assumption, assumptions
from netcalc.dims.polynomial import Dim, Poly, at_least, equal, exact_div, maximum, minimum, required, symbol

__all__ = [
    "Assumption",
    "Dim",
    "Poly",
    "UndecidedError",
    "assumptions",
    "at_least",
    "ceil_div",
    "ceil_log2",
    "equal",
    "exact_div",
    "integer",
    "maximum",
    "minimum",
    "narrow",
    "product",
    "required",
    "substitute",
    "symbol",
    "value_at",
]
