"""Plans of what a user asks for: names and bounds are checked before any point is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.limits import MAX_SWEEP_GRID, MAX_SWEEP_POINTS, MAX_SWEEP_RANGES
from netcalc.ranges import RangesArgument, ranges_of
from netcalc.request import Request
from netcalc.spec.evaluate import names_in
from netcalc.spec.settings import Settings, known_names, setting_names
from netcalc.spec.yaml_document import parse_scalar
from netcalc.sweep.plan import Plan

#: Values of a list that are checked one by one.
_CHECKED = 10_000


def plan_of(request: Request, over: RangesArgument, random: int | None = None, seed: int = 0) -> Plan:
    """Return the plan of a sweep.

    Args:
        request: the source and its settings, which the values of the plan replace.
        over: ranges, as :func:`~netcalc.ranges.ranges_of` takes them.
        random: number of points that are drawn from the grid; None for all of it.
        seed: seed of the draw.

    Raises:
        NetcalcError: E502 for a malformed or empty range, for a name that the spec does not have, a value that a dim
            or var cannot have, too many points, and more drawn points than the grid has; E404 for a symbolic size that
            is not swept.
    """
    grid_limit = MAX_SWEEP_POINTS if random is None else MAX_SWEEP_GRID
    ranges = ranges_of(over, MAX_SWEEP_POINTS, MAX_SWEEP_RANGES, grid_limit)
    values = {composed(name): _read(name, listed) for name, listed in ranges.values.items()}
    _require_names(request, values)
    for name, listed in values.items():
        _require_values(request, name, listed)
    plan = Plan(values, random, seed, *_definitions(request, values))
    if random is not None and not 1 <= random <= min(plan.grid, MAX_SWEEP_POINTS):
        most = f"the ranges have {plan.grid:,} points" if random > plan.grid else f"at most {int(MAX_SWEEP_POINTS):,}"
        raise NetcalcError(Diagnostic("E502", f"--random {random}: {most if random > 0 else 'no point'}"))
    symbol = next((name for name in request.symbolic if name not in plan.names), None)
    if symbol is not None:
        raise NetcalcError(Diagnostic("E404", f"--over: {symbol} is a symbol", hint=f"--set {symbol}=NUMBER"))
    return plan


def _read(name: str, values: Any) -> Any:
    """Return values with those that texts stand for."""
    if isinstance(values, tuple):
        try:
            read = [parse_scalar(value) if isinstance(value, str) else value for value in values]
        except NetcalcError as error:
            (problem, *_) = error.diagnostics
            raise NetcalcError(Diagnostic("E502", f"--over {name}: {problem.message}", hint=problem.hint)) from None
        return tuple(value.tolist() if hasattr(value, "tolist") else value for value in read)
    return values


def _require_names(request: Request, names: Iterable[str]) -> None:
    known = setting_names(request.source)
    problems = [
        Diagnostic(
            "E502",
            f"--over {name}: the spec has no dim or var of that name",
            hint=known_names(name, request.source),
        )
        for name in names
        if name not in known
    ]
    if problems:
        raise NetcalcError(problems)


def _require_values(request: Request, name: str, values: Any) -> None:
    """Check the bounds of a range, and the values of a list, with the limits of the spec alone."""
    several = values[:_CHECKED] if isinstance(values, tuple) else (values[0], values[-1])
    for value in several:
        try:
            Settings(request.source, {**request.settings, name: value}, ())[name]
        except NetcalcError as error:
            problems = [
                problem._replace(code="E502", message=problem.message.replace("--set", "--over"))
                for problem in error.diagnostics
            ]
            raise NetcalcError(problems) from None


def _definitions(request: Request, ranges: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the settings that follow from swept names, and the values of other names in them, as they are written.

    The request has a program, so that no definition is circular.
    """
    chosen = {name: value for name, value in request.settings.items() if name not in ranges}
    expressions = [name for name, value in chosen.items() if isinstance(value, str) and "${" in value]
    definitions: dict[str, Any] = {}
    uses: dict[str, frozenset[str]] = {}
    pending = [*expressions]
    while pending:
        name = pending.pop()
        if name not in ranges and name not in definitions:
            definitions[name] = chosen.get(name, _default(request, name))
            uses[name] = names_in(definitions[name])
            pending += uses[name]
    swept = {*ranges}
    while more := {name for name, used in uses.items() if name not in swept and used & swept}:
        swept |= more
    derived = {name: definitions.pop(name) for name in expressions if name in swept}
    return derived, definitions if derived else {}


def _default(request: Request, name: str) -> Any:
    """Return the default of a dim or var as the spec writes it; None if it has none, or for another name."""
    for declared in (request.source.cursor.data.get("dims") or {}, request.source.cursor.data.get("vars") or {}):
        if name in declared:
            value = declared[name]
            return value.get("default") if isinstance(value, dict) and {"default", "min", "max"} & {*value} else value
    return None
