"""Scaling laws, as a function of the Python API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from netcalc.arguments import accepts, texts
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.law_options import LawOptions

if TYPE_CHECKING:
    from netcalc.analysis.laws import ComputeOptimal


@accepts
def compute_optimal(
    flops: str | float | Iterable[str | float] | None = None, /, **options: Unpack[LawOptions]
) -> ComputeOptimal:
    """Return the parameters and tokens that use a budget of FLOPs best, by scaling laws of language models.

    Args:
        flops: FLOPs of all training, as in ``5.76e23``, or several budgets, whose curves of equal FLOPs a chart
            shows; in its place ``params`` or ``tokens`` may be given, and the budget follows.

    Raises:
        NetcalcError: E502 for an unknown law, for a value that is no number above 0, and unless one value is given.

    >>> import netcalc
    >>> optimum, = netcalc.compute_optimal(5.76e23, law="besiroglu").laws
    >>> f"{optimum.params:.3g} {optimum.tokens:.3g} {optimum.tokens_per_param:.1f}"
    '7.22e+10 1.33e+12 18.4'
    """
    from netcalc.analysis.laws import compute_optimal as optimal
    from netcalc.analysis.laws import laws_named

    values = {"flops": flops, "params": options["params"], "tokens": options["tokens"]}
    given = {name: value for name, value in values.items() if value is not None}
    if len(given) != 1:
        hint = "for example compute_optimal(5.76e23), or compute_optimal(params='70B')"
        raise NetcalcError(Diagnostic("E502", "one of flops, params and tokens should be given", hint=hint))
    return optimal(laws_named(texts(options["law"])), *next(iter(given.items())))
