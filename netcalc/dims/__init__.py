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
:class:`Assumption` in the innermost :func:`assumptions` block, as a tracing compiler guards a specialized graph.
So is the equality of sizes of different form by :func:`equal`, where ``==`` compares forms only.

Each module imports only earlier ones: ``intervals``, ``work``, ``atoms``, ``arrays``, ``terms``, ``bounds``,
``extremes``, ``order``, ``polynomial``, ``functions``, ``reals``.
"""

from netcalc.dims.atoms import Symbol, UndecidedError, bounds_of, examples, value_at
from netcalc.dims.functions import (
    assumed_divisors,
    at_least,
    ceil_div,
    ceil_log2,
    claimed,
    default_of,
    divided,
    has_values,
    integer,
    may_be_zero,
    narrow,
    not_negative,
    product,
    refusal,
    required,
    substitute,
    symbol,
)
from netcalc.dims.order import (
    Assumption,
    Claims,
    assumptions,
    claims_of,
    differences,
    followed,
    formulas_kept,
    has_symbolic_values,
    in_sketch,
    is_traced,
    record,
    symbolic_values,
)
from netcalc.dims.polynomial import Dim, Poly, equal, exact_div, maximum, minimum
from netcalc.dims.reals import (
    RealFormula,
    SymbolicReal,
    has_reals,
    keeps_formulas,
    real_arithmetic,
    refuse_symbols,
    symbolic_names,
)
from netcalc.dims.settled import Settled
from netcalc.dims.work import limited_work, spend

__all__ = [
    "Assumption",
    "Claims",
    "Dim",
    "Poly",
    "RealFormula",
    "Settled",
    "Symbol",
    "SymbolicReal",
    "UndecidedError",
    "assumed_divisors",
    "assumptions",
    "at_least",
    "bounds_of",
    "ceil_div",
    "ceil_log2",
    "claimed",
    "claims_of",
    "default_of",
    "differences",
    "divided",
    "equal",
    "exact_div",
    "examples",
    "followed",
    "formulas_kept",
    "has_reals",
    "has_symbolic_values",
    "has_values",
    "in_sketch",
    "integer",
    "is_traced",
    "keeps_formulas",
    "limited_work",
    "maximum",
    "may_be_zero",
    "minimum",
    "narrow",
    "not_negative",
    "product",
    "real_arithmetic",
    "record",
    "refusal",
    "refuse_symbols",
    "required",
    "spend",
    "substitute",
    "symbol",
    "symbolic_names",
    "symbolic_values",
    "value_at",
]
