"""Numbers of operations and rows of an unrolled program, counted without unrolling it."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Poly, UndecidedError
from netcalc.ir import Body, CallNode, Program
from netcalc.limits import MAX_INSTANCES, MAX_UNROLLED, Limit


def operation_count(program: Program) -> int:
    """Return the number of operations in one pass, repeats unrolled."""
    return _count(program.main, 0, {})


def require_unrolled(program: Program) -> None:
    """Raise NetcalcError for a report with a row for every instance: E502 if it would be too long, E404 as below."""
    _require(program, MAX_UNROLLED, "reports without --unroll and --receptive-field have one row for equal layers")


def require_visits(program: Program) -> None:
    """Raise NetcalcError for too many instances to go through them (E603), or a symbolic number of them (E404)."""
    _require(program, MAX_INSTANCES, "shapes, params, flops and summary count repeats without unrolling them")


def _require(program: Program, limit: Limit, hint: str) -> None:
    unknown = {call.span: call for call in reversed(list(_symbolic_calls(program.main, set())))}  # the first of a line
    if unknown:
        raise UndecidedError(map(_unknown, reversed(unknown.values())))
    count = _count(program.main, 1, {})
    if count > limit:
        message = f"{program.name} has {count:,} layers with its repeats unrolled (at most {limit:,})"
        raise NetcalcError(Diagnostic(limit.code, message, hint=hint))


def _symbolic_calls(body: Body, seen: set[Body]) -> Iterator[CallNode]:
    """Yield the calls whose number of iterations is symbolic."""
    seen.add(body)
    for node in body.nodes:
        if isinstance(node, CallNode):
            if isinstance(node.times, Poly):
                yield node
            if node.body not in seen:
                yield from _symbolic_calls(node.body, seen)


def _unknown(call: CallNode) -> Diagnostic:
    """Return the error of a number of iterations that is no number."""
    message = (
        f"{call.name}: its iterations cannot be gone through one by one, as their number, {call.times}, is symbolic"
    )
    hint = "without --symbolic for it the number is that of the spec, or of --set"
    return Diagnostic("E404", message, call.span, hint=hint)


def _count(body: Body, each_call: int, counts: dict[Body, int]) -> int:
    """Return the operations in a body, and ``each_call`` for every call in it."""
    if body not in counts:
        counts[body] = sum(
            node.times * (each_call + _count(node.body, each_call, counts)) if isinstance(node, CallNode) else 1
            for node in body.nodes
        )
    return counts[body]
