"""Plans of what a user asks for: names and bounds are checked before any point is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.limits import MAX_DEFINITIONS, MAX_SWEEP_GRID, MAX_SWEEP_POINTS, MAX_SWEEP_RANGES
from netcalc.ranges import RangesArgument, ranges_of, without_expressions
from netcalc.request import Request
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate, names_in
from netcalc.spec.settings import Settings, known_names, setting_names
from netcalc.spec.yaml_document import parse_scalar
from netcalc.sweep.plan import Plan

#: Values of a list that are checked one by one.
_CHECKED = 10_000


def plan_of(request: Request, over: RangesArgument, random: int | None = None, seed: int = 0) -> Plan:
    """Return the plan of a sweep.

    Args:
        request: the source and its settings, which the values of the plan replace.
        over: ranges, as :func:`~netcalc.ranges.ranges_of` takes them, and expressions of what follows from them.
        random: number of points that are drawn from the grid; None for all of it.
        seed: seed of the draw.

    Raises:
        NetcalcError: E502 for a malformed or empty range, for a name that the spec does not have, a value that a dim
            or var cannot have, too many points, more drawn points than the grid has, and an expression of unknown
            names or of itself; E404 for a symbolic size that is not swept.
    """
    over, derived = without_expressions(over)
    grid_limit = MAX_SWEEP_POINTS if random is None else MAX_SWEEP_GRID
    ranges = ranges_of(over, MAX_SWEEP_POINTS, MAX_SWEEP_RANGES, grid_limit)
    values = {composed(name): _read(listed) for name, listed in ranges.values.items()}
    derived = {composed(name): text for name, text in derived.items()}
    _require_names(request, (*values, *derived))
    for name, listed in values.items():
        _require_values(request, name, listed)
    plan = Plan(values, random, seed, derived, _definitions(request, (*values,), derived))
    _require_expressions(plan)
    if random is not None and not 1 <= random <= min(plan.grid, MAX_SWEEP_POINTS):
        most = f"the ranges have {plan.grid:,} points" if random > plan.grid else f"at most {int(MAX_SWEEP_POINTS):,}"
        raise NetcalcError(Diagnostic("E502", f"--random {random}: {most if random > 0 else 'no point'}"))
    symbol = next((name for name in request.symbolic if name not in plan.names), None)
    if symbol is not None:
        raise NetcalcError(Diagnostic("E404", f"--over: {symbol} is a symbol", hint=f"--set {symbol}=NUMBER"))
    return plan


def _read(values: Any) -> Any:
    """Return values with those that texts stand for."""
    if isinstance(values, tuple):
        return tuple(parse_scalar(value) if isinstance(value, str) else value for value in values)
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


def _definitions(request: Request, swept: Iterable[str], derived: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings and defaults of the names in expressions that are neither swept nor derived."""
    definitions: dict[str, Any] = {}
    names = {*swept}
    pending: list[tuple[str, tuple[str, ...]]] = [(name, (name,)) for name in derived]
    known = setting_names(request.source)
    while pending:
        name, chain = pending.pop()
        value = derived.get(name, definitions.get(name))
        for used in sorted(names_in(value)):
            if used in chain:
                cycle = " → ".join((*chain[chain.index(used) :], used))
                raise NetcalcError(Diagnostic("E502", f"--over {chain[0]}: circular definition: {cycle}"))
            if used in names:
                continue
            if len(chain) > MAX_DEFINITIONS:
                message = f"--over {chain[0]}: over {int(MAX_DEFINITIONS)} definitions that follow from each other"
                raise NetcalcError(Diagnostic("E502", message))
            if used not in derived and used not in definitions:
                if used not in known:
                    message = f"--over {chain[0]}={derived[chain[0]]}: unknown name {used!r}"
                    raise NetcalcError(Diagnostic("E502", message, hint=did_you_mean(used, known)))
                definitions[used] = _default(request, used)
            pending.append((used, (*chain, used)))
    return definitions


def _default(request: Request, name: str) -> Any:
    """Return the setting of a name, or its default as the spec writes it."""
    if name in request.settings:
        return request.settings[name]
    kind = "dims" if name in request.source.document.dims else "vars"
    declared = request.source.cursor[kind][name].data
    if isinstance(declared, dict) and "default" in declared:
        declared = declared["default"]
    if declared is None or (kind == "dims" and isinstance(declared, dict)):
        message = f"--over: an expression uses {name}, which has no value"
        raise NetcalcError(Diagnostic("E502", message, hint=f"--set {name}=NUMBER"))
    return declared


def _require_expressions(plan: Plan) -> None:
    """Check the syntax of the expressions at the first point.

    Other errors depend on the values, and are reasons why points are refused.
    """
    for name, text in plan.derived.items():
        try:
            evaluate(Cursor(text, (), {}), plan.scope(0))
        except NetcalcError as error:
            (problem, *_) = error.diagnostics
            if problem.code in ("E201", "E202"):
                message = f"--over {name}={text}: {problem.message}"
                raise NetcalcError(problem._replace(code="E502", message=message)) from None
