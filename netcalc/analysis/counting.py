"""Numbers of operations and rows of an unrolled program, counted without unrolling it."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, Program
from netcalc.limits import MAX_INSTANCES, MAX_UNROLLED, Limit


def operation_count(program: Program) -> int:
    """Return the number of operations in one pass, repeats unrolled."""
    return _count(program.main, 0, {})


def require_unrolled(program: Program) -> None:
    """Raise NetcalcError (E502) if a report with a row for every instance would be too long."""
    _require(program, MAX_UNROLLED, "reports without --unroll and --receptive-field have one row for equal layers")


def require_visits(program: Program) -> None:
    """Raise NetcalcError (E603) if the program has too many instances to go through them one by one."""
    _require(program, MAX_INSTANCES, "shapes, params, flops and summary count repeats without unrolling them")


def _require(program: Program, limit: Limit, hint: str) -> None:
    count = _count(program.main, 1, {})
    if count > limit:
        message = f"{program.name} has {count:,} layers with its repeats unrolled (at most {limit:,})"
        raise NetcalcError(Diagnostic(limit.code, message, hint=hint))


def _count(body: Body, each_call: int, counts: dict[Body, int]) -> int:
    """Return the operations in a body, and ``each_call`` for every call in it."""
    if body not in counts:
        counts[body] = sum(
            node.times * (each_call + _count(node.body, each_call, counts)) if isinstance(node, CallNode) else 1
            for node in body.nodes
        )
    return counts[body]
