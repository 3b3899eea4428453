"""The working of ``netcalc explain --complexity``, of a request and the dim of its positions."""

from __future__ import annotations

from netcalc.analysis.complexity import explain_complexity
from netcalc.analysis.conventions import Convention
from netcalc.analysis.explain import Explanation
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import value_at
from netcalc.request import Request


def complexity_of(request: Request, convention: Convention) -> Explanation:
    """Return work, sequential steps and paths by the positions of a request, and by its symbolic vars.

    The positions are the symbolic dim, or else the new positions of a network that decodes, or ``length``.

    Raises:
        NetcalcError: E502 if there is no such dim, or more than one.
        UndecidedError: E404 for a dim without a number.
    """
    dims, caches = request.program.dims, request.program.caches
    names = [name for name in request.symbolic if name != "batch" and name in dims]
    if not names:
        names = [name for name in (caches.new, "length") if name is not None and name in dims][:1]
    if len(names) != 1:
        hint = f"--symbolic NAME, one of {', '.join(dims)}"
        message = f"--complexity: it is not known which dim of {request.program.name} has the positions"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
    (name,) = names
    size = value_at(dims[name], {})
    symbolic = request if name in request.symbolic else request.with_symbols(names)
    return explain_complexity(symbolic.program, name, size, convention)
