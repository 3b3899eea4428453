"""Bytes of the weights in the forms that people store them in."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.precision import stored
from netcalc.analysis.precision.totals import StoredTotals
from netcalc.analysis.stored_weights import stored_weights
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.planning.defaults import common_schemes


def stored_in(program: Program) -> Iterator[tuple[str, int]]:
    """Yield the names of common schemes that apply to a program, with the bytes of all parameters and buffers.

    Args:
        program: the program in full precision.
    """
    schemes = common_schemes(program.caches.new is not None)
    totals = None if program.assigned or program.added else StoredTotals(program)
    for scheme in schemes:
        try:
            yield scheme, _stored(program, scheme) if totals is None else totals.bytes(scheme)
        except NetcalcError:  # none of its parameters can be stored so
            continue


def _stored(program: Program, scheme: str) -> int:
    return sum(integer(group.bytes) for group in stored_weights(stored(program, (scheme,))))
