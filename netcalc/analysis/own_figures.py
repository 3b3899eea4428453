"""Figures that the tool or paper of a convention defines itself: parameters, activations and sizes.

Each is a sum over operations by the rules of the convention (``figures`` of its file), or an expression over such sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from netcalc.analysis.conventions import CONVENTIONS, Convention, Place
from netcalc.analysis.conventions.convention import FigureUnit, OwnFigure
from netcalc.analysis.conventions.quantities import Quantities
from netcalc.analysis.conventions.scope import RuleScope
from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.figures import View
from netcalc.analysis.greatest_module import greatest_module
from netcalc.analysis.working import Section, number_text
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.expressions import ExpressionError, parse
from netcalc.ir import OpNode
from netcalc.opdef import WorkingLine

#: Units of the figures that a report shows.
_SHOWN: Mapping[View, tuple[FigureUnit, ...]] = {
    "params": ("parameters",),
    "flops": ("elements",),
    "summary": ("parameters", "elements", "bytes"),
}


class FigurePart(NamedTuple):
    """A figure of an operation, of all its instances."""

    path: str
    """Path of the first instance."""
    op: str
    counted: Dim
    own: Dim
    """Parameters that netcalc counts there; 0 for other figures."""
    repeat: int
    """Number of instances."""
    formula: str
    """Expression of the rule; empty if no rule counts the operation."""


class FigureDifference(NamedTuple):
    """Parameters that a convention counts otherwise than netcalc, by operation."""

    op: str
    """Name of the operation."""
    difference: Dim
    """Amount that the convention counts more; negative if it counts less."""


class CountedFigure(NamedTuple):
    """A figure as the tool or paper of a convention defines it."""

    name: str
    title: str
    """Name that the tool gives it."""
    unit: FigureUnit
    """Unit of the count: `parameters`, `elements` of tensors, or `bytes`."""
    value: Dim
    netcalc: Dim | None
    """Number of parameters as netcalc counts them; null for other figures."""
    differences: tuple[FigureDifference, ...]
    """Of parameters: operations that the convention counts otherwise; they add up to the difference."""
    remarks: tuple[str, ...]
    """Faults of the tool that change the figure."""
    modules: tuple[str, ...] = ()
    """Of the figure of the greatest module: those that have it."""


def own_figures(analysis: Analysis, view: View = "summary") -> tuple[CountedFigure, ...]:
    """Return the figures of the convention of an analysis that a report shows.

    They leave out layers that are excluded; counts of parameters are of whole networks only.

    Raises:
        NetcalcError: E701 if the rules read what the network does not have.
    """
    wanted, values, counted = _SHOWN.get(view, ()), dict[str, Any](), list[CountedFigure]()
    network = Quantities(analysis.program)
    for figure in analysis.convention.figures.values():
        if _is_of_weights(figure) and analysis.exclusions is not None:
            continue
        is_wanted = figure.unit in wanted or (view == "params" and figure.of_weights)
        if not is_wanted and not _is_needed(analysis.convention, wanted):
            continue
        if figure.when is not None and not figure.when.evaluate({"network": network}):
            continue
        one = _counted(analysis, figure, network, values)
        values[figure.name] = one.value
        if is_wanted:
            counted.append(one)
    return tuple(counted)


def figure_parts(analysis: Analysis, name: str) -> Iterator[tuple[Row, Dim]]:
    """Yield what a figure counts of each operation, of all its instances; nothing of an expression over other figures.

    Raises:
        NetcalcError: as :func:`own_figures` does.
    """
    figure, network = analysis.convention.figures[name], Quantities(analysis.program)
    for row in analysis.counted_leaves() if figure.total is None else ():
        yield row, _part(analysis, figure, row, network)[0].counted


def require_parameters(convention: Convention) -> None:
    """Raise NetcalcError (E701) for a convention that has no count of parameters of its own."""
    if not any(map(_is_of_weights, convention.figures.values())):
        known = [name for name, other in CONVENTIONS.items() if any(map(_is_of_weights, other.figures.values()))]
        message = f"{convention.name} has no count of parameters"
        raise NetcalcError(Diagnostic("E701", message, hint=f"there are counts of {', '.join(known)}"))


def figure_sections(analysis: Analysis) -> Iterator[Section]:
    """Yield the working of each figure of a network: what is counted of each operation, or the expression."""
    network = Quantities(analysis.program)
    values = {figure.name: figure.value for figure in own_figures(analysis)}
    for name, value in values.items():
        figure = analysis.convention.figures[name]
        if figure.greatest:
            steps = [
                WorkingLine(
                    ", ".join(greatest_module(analysis, partial(_of_instance, analysis, figure, network))[1]),
                    "",
                    "",
                    value,
                )
            ]
        elif figure.total is not None:
            steps = [WorkingLine(name, figure.total.pretty(), figure.total.pretty(values), value)]
        else:
            sums: dict[str, Dim] = {}
            for leaf in analysis.counted_leaves():
                sums[leaf.op] = sums.get(leaf.op, 0) + _part(analysis, figure, leaf, network)[0].counted
            steps = [WorkingLine(op, "", "", counted) for op, counted in sums.items() if counted != 0]
            steps.append(WorkingLine("sum", "", "", value))
        yield Section(name, tuple(steps), _title(analysis, figure))


def layer_sections(analysis: Analysis, row: Row) -> Iterator[Section]:
    """Yield the working of each figure of one operation; parts of netcalc's own parameters have none."""
    network = Quantities(analysis.program)
    shown = {figure.name for figure in own_figures(analysis)} if analysis.convention.name != "netcalc" else ()
    for name, figure in analysis.convention.figures.items():
        if name not in shown or figure.total is not None:
            continue
        one = row._replace(repeat=1)
        part, bug = _part(analysis, figure, one, network)
        if not part.formula:
            continue
        steps = [WorkingLine(name, parse(part.formula).pretty(), "", part.counted)]
        if row.repeat > 1:
            working = f"{row.repeat:,}·{number_text(part.counted)}"
            steps.append(WorkingLine(f"all {row.repeat:,}", "", working, part.counted * row.repeat))
        yield Section(name, tuple(steps), "; ".join(filter(None, (_title(analysis, figure), bug))))


def _title(analysis: Analysis, figure: OwnFigure) -> str:
    return "; ".join(filter(None, (f"{figure.title} of {analysis.convention.name}", figure.bug)))


def _is_of_weights(figure: OwnFigure) -> bool:
    return figure.unit == "parameters" or figure.of_weights


def _of_instance(analysis: Analysis, figure: OwnFigure, network: Quantities, row: Row) -> Dim:
    return _part(analysis, figure, row._replace(repeat=1), network)[0].counted


def _is_needed(convention: Convention, wanted: tuple[FigureUnit, ...]) -> bool:
    return any(figure.total is not None and figure.unit in wanted for figure in convention.figures.values())


def _counted(analysis: Analysis, figure: OwnFigure, network: Quantities, values: Mapping[str, Any]) -> CountedFigure:
    remarks = {figure.bug: None} if figure.bug else {}
    if figure.total is not None:
        value = figure.total.evaluate({**values, "network": network})
        return CountedFigure(figure.name, figure.title, figure.unit, value, None, (), tuple(remarks))
    if figure.greatest:
        value, modules = greatest_module(analysis, partial(_of_instance, analysis, figure, network))
        return CountedFigure(figure.name, figure.title, figure.unit, value, None, (), tuple(remarks), modules)
    total: Dim = 0
    more: dict[str, Dim] = {}
    for row in analysis.counted_leaves():
        part, bug = _part(analysis, figure, row, network)
        total = total + part.counted
        if figure.unit == "parameters" and part.counted != part.own:
            more[part.op] = more.get(part.op, 0) + part.counted - part.own
        if bug:
            remarks[bug] = None
    own = analysis.total.params if figure.unit == "parameters" else None
    differences = tuple(FigureDifference(op, value) for op, value in more.items() if value != 0)
    return CountedFigure(figure.name, figure.title, figure.unit, total, own, differences, tuple(remarks))


def _part(analysis: Analysis, figure: OwnFigure, row: Row, network: Quantities) -> tuple[FigurePart, str]:
    """Return what a figure counts of a row, with the fault of the tool that changes it."""
    node = row.node
    assert isinstance(node, OpNode)
    body = analysis.body_of(node) if figure.reads_place else None
    scope = RuleScope(node, analysis.terms(node), analysis.program.training, False, (), Place(body, network))
    own = row.cost.params if figure.unit == "parameters" else 0
    rule = None if _is_seen_again(figure, row, scope) else figure.rule(scope)
    counted: Dim = 0
    if rule is not None:
        try:
            counted = rule.counted.evaluate(scope)
        except ExpressionError as error:
            where = f"{figure.name} of {analysis.convention.name} at {row.path}"
            raise NetcalcError(Diagnostic(error.code, f"{where}: {error.message}", node.span)) from None
    changes = rule is not None and rule.bug and (counted != own if figure.unit == "parameters" else True)
    formula = "" if rule is None else rule.counted.text
    part = FigurePart(row.path, row.op, counted * row.repeat, own * row.repeat, row.repeat, formula)
    return part, rule.bug if rule is not None and changes else ""


def _is_seen_again(figure: OwnFigure, row: Row, scope: RuleScope) -> bool:
    """Return True for parameters of a layer that is called again."""
    return _is_of_weights(figure) and row.cost.params == 0 and scope.own() != 0
