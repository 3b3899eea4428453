"""The report of ``netcalc scaling``: sizes that grow, and the program with symbols for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Poly
from netcalc.ranges import RangesArgument, ranges_of
from netcalc.request import Request
from netcalc.spec.settings import known_names

#: Doublings of the default size at which figures are given, if no sizes are.
_DOUBLINGS = range(-2, 6)


def scaled_request(request: Request, over: RangesArgument) -> tuple[Request, dict[str, Sequence[int]], dict[str, int]]:
    """Return the request with symbols for the sizes that grow, the sizes of each, and their defaults.

    Raises:
        NetcalcError: E502 for a name that the spec does not have, a malformed or empty range, and a size outside the
            limits of a dim or var; E404 for a size without a default.
    """
    given = _ranges(over) or {_usual(request): None}
    for name in given:
        if name not in request.source.document.dims and name not in request.source.document.vars:
            message = f"--over {name}: the spec has no dim or var of that name"
            raise NetcalcError(Diagnostic("E502", message, hint=known_names(name, request.source)))
    symbolic = replace(request, symbolic=tuple(dict.fromkeys((*request.symbolic, *given))))
    program = symbolic.program
    values = {**program.dims, **program.vars}
    defaults, sizes = {}, {}
    for name, points in given.items():
        (symbol,) = _symbol(name, values[name]).symbols()
        if symbol.default is None:
            raise NetcalcError(Diagnostic("E404", f"--over {name}: it has no default", hint=f"--set {name}=NUMBER"))
        defaults[name] = symbol.default
        own = symbol._replace(multiple=1)
        if points is None:
            doubled = (int(symbol.default * 2.0**power) for power in _DOUBLINGS)
            points = tuple(dict.fromkeys(size for size in doubled if own.refusal(size) is None))
        for size in points:
            if (reason := own.refusal(size)) is not None:
                raise NetcalcError(Diagnostic("E502", f"--over {name}: {name} {reason}"))
        sizes[name] = points
    return symbolic, sizes, defaults


def _usual(request: Request) -> str:
    """Return the dim of new positions, or else the first one beside the batch."""
    dims = list(request.source.document.dims)
    if not dims:
        hint = f"--over NAME, one of {', '.join(request.source.document.vars)}"
        raise NetcalcError(Diagnostic("E502", "--over: the spec has no dim, and no size is named", hint=hint))
    return request.program.caches.new or next((name for name in dims if name != "batch"), dims[0])


def _symbol(name: str, value: Any) -> Poly:
    if isinstance(value, Poly):
        return value
    raise NetcalcError(
        Diagnostic("E502", f"--over {name}: it is a list; name one size", hint="--set and --over of dims")
    )


def _ranges(over: RangesArgument) -> dict[str, Sequence[Any] | None]:
    """Return the sizes of each name; None for a name alone."""
    if isinstance(over, Mapping):
        return dict(ranges_of(over).values) if over else {}
    texts: Iterable[str] = [over] if isinstance(over, str) else over
    found: dict[str, Sequence[Any] | None] = {}
    for text in texts:
        if "=" in text:
            found |= ranges_of(text).values
        else:
            found |= {name.strip(): None for name in text.split(",") if name.strip()}
    return found
