"""Paths that two layers or two parameters share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from netcalc.diagnostics import Diagnostic, Related
from netcalc.ir import Body
from netcalc.ir.paths import Claim, path_collisions

_MOST_COLLISIONS = 10


def shared_paths(main: Body) -> Iterator[Diagnostic]:
    """Yield an error (E106) for each path that two nodes or two parameters have, up to a limit."""
    for path, first, second in islice(path_collisions(main), _MOST_COLLISIONS):
        kind = "parameters" if first.is_parameter else "layers"
        related = [*_calls(second), Related("the other is here", first.node.span), *_calls(first)]
        hint = "give one of the two lines another name"
        yield Diagnostic("E106", f"two {kind} have the path {path!r}", second.node.span, tuple(related), hint=hint)


def _calls(claim: Claim) -> Iterator[Related]:
    """Yield the calls around a line, innermost first."""
    return (Related(f"in {call.body.block!r}, called here", call.span) for call in reversed(claim.calls))
