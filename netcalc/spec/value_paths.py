"""Values named by their path, as reports print it: inside named sequences, block calls and iterations of repeats."""

from __future__ import annotations

from netcalc.ir import Value
from netcalc.ir.places import expose
from netcalc.spec.scope import PartialBody, Scope


def value_at(path: str, scope: Scope) -> Value | None:
    """Return the value at a path, exposed by the calls around it; None if there is none.

    Raises:
        Poisoned: a line that may have the path is not elaborated because of an error.
    """
    place_in_body = scope.place_of(path)
    if place_in_body is None:
        return None
    body, place = place_in_body
    before = len(body.nodes)
    value = expose(body.nodes, place, body.copies)
    if body.visible is not None:
        body.visible += len(body.nodes) - before
    return _captured_input(path, value, scope, body)


def _captured_input(path: str, value: Value, scope: Scope, body: PartialBody) -> Value:
    """Return the input that stands for a value of ``body`` in the anonymous body of ``scope``."""
    if scope.body is body:
        return value
    assert scope.body.outer is not None
    return scope.body.capture(f"/{path}", _captured_input(path, value, scope.body.outer, body))
