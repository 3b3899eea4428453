"""Tables of a comparison: operations, layers, and attributes that differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netcalc.analysis.compare import COMPARED, Comparison, Match, OperationMatch, change
from netcalc.analysis.conventions import convention_named
from netcalc.analysis.figures import Figure, Unit
from netcalc.analysis.summary import Layer
from netcalc.dims import Dim
from netcalc.opdef import attribute_text
from netcalc.render.table import ALWAYS, Column, Elements, Kind, Row, Sides, Table


def figures_of(comparison: Comparison) -> list[Figure]:
    """The figures with a column: of conventions the work, and no FLOPs if they make them the same as MACs."""
    work_only = comparison.convention is None
    figures = [f for f in COMPARED if "compare" in f.columns and not (work_only and f.work is None)]
    if _counts_macs(comparison) and all(totals.macs == totals.flops for totals in comparison.totals):
        return [figure for figure in figures if figure.unit != "flops"]
    return figures


def titled(comparison: Comparison, figure: Figure, title: str) -> str:
    """The title of a figure; FLOPs at one for each MAC are titled with the convention, as others count two."""
    named = figure.unit == "flops" and comparison.convention and _counts_macs(comparison)
    return f"{comparison.convention} {title}" if named else title


def _counts_macs(comparison: Comparison) -> bool:
    """Return True if all conventions count one FLOP for each MAC."""
    return all(convention_named(convention).per_mac == 1 for convention in comparison.conventions)


def operations_table(comparison: Comparison, operations: Sequence[OperationMatch]) -> Table:
    """Totals by operation, the largest work first."""
    figures = figures_of(comparison)
    columns = [Column("by operation"), *_columns(comparison, "executions", "count", ALWAYS - 5)]
    for figure in figures:
        columns += _figure_columns(comparison, figure)
    rows = []
    for match in sorted(operations, key=_largest, reverse=True):
        cells = [match.op, *_figure_cells(match.executions, "elements")]
        for figure in figures:
            cells += _figure_cells([figure.of(cost) for cost in match.costs], figure.unit)
        rows.append(Row(cells))
    return Table(columns, rows)


def layers_table(comparison: Comparison, rows: Sequence[Row]) -> Table:
    """The table of layers, from its rows."""
    columns = [
        Column("layer", "path"),
        Column("only in"),
        Column("operation", priority=ALWAYS - 3),
        Column("input", "shapes", ALWAYS - 6),
        Column("output", "shapes", ALWAYS - 2),
    ]
    for figure in figures_of(comparison):
        columns += _figure_columns(comparison, figure)
    return Table(columns, rows)


def match_row(
    comparison: Comparison, label: str, match: Match, present: Sequence[bool], children: Sequence[Row] = ()
) -> Row:
    """The row of a match; ``present`` is True for each network that has the enclosing part."""
    exists = [layer is not None for layer in match.layers]
    only = ", ".join(name for name, has_layer in zip(comparison.titles, exists, strict=True) if has_layer)
    inputs = _sides(match, lambda layer: tuple(layer.inputs))
    cells: list[Any] = [
        label,
        None if exists == list(present) else only,
        _sides(match, lambda layer: layer.op),
        inputs if len({value for value in inputs.values if value is not None}) > 1 else None,
        _sides(match, lambda layer: tuple(layer.outputs)),
    ]
    for figure in figures_of(comparison):
        cells += _figure_cells(match.figures(figure.name), figure.unit)
    return Row(cells, match.repeat, children)


def tree_rows(comparison: Comparison, depth: int | None, all_: bool) -> list[Row]:
    """The matches as a tree; without ``all_`` those that differ."""

    def rows(matches: Sequence[Match], present: Sequence[bool]) -> list[Row]:
        return [row(match, present) for match in matches if all_ or match.differs]

    def row(match: Match, present: Sequence[bool]) -> Row:
        children: list[Row] = []
        if depth is None or match.path.count(".") + 1 < depth:
            children = rows(match.children, [layer is not None for layer in match.layers])
        return match_row(comparison, match.label, match, present, children)

    return rows(comparison.layers, (True,) * len(comparison.titles))


def attributes_table(comparison: Comparison) -> Table:
    """The attributes that differ between layers of one path and operation; a difference that many layers share once."""
    differences: dict[tuple[str, str, tuple[str | None, ...]], list[Match]] = {}
    for match in comparison.rows():
        for name, values in _texts(match).items():
            op = next(layer.op for layer in match.layers if layer is not None)
            differences.setdefault((op, name, values), []).append(match)
    columns = [Column("attribute", "prose"), *(Column(name, "prose") for name in comparison.titles)]
    columns += [Column("layers", "total", 50), Column("first", "path", 60)]
    rows = [
        Row([f"{op} {name}", *values, sum(match.repeat for match in matches), matches[0].path])
        for (op, name, values), matches in differences.items()
    ]
    return Table(columns, rows)


def _texts(match: Match) -> dict[str, tuple[str | None, ...]]:
    """Return the attributes that differ as text, None for a network without the layer."""
    missing = [layer is None for layer in match.layers]
    return {
        name: tuple(None if absent else attribute_text(value) for absent, value in zip(missing, values, strict=True))
        for name, values in match.attributes.items()
    }


def _largest(match: OperationMatch) -> int:
    return max(cost.flops if isinstance(cost.flops, int) else 0 for cost in match.costs)


def _figure_columns(comparison: Comparison, figure: Figure) -> list[Column]:
    kind: Kind = "work" if figure.work is not None else "count"
    title = titled(comparison, figure, figure.title)
    return _columns(comparison, title, kind, ALWAYS - figure.columns["compare"])


def _columns(comparison: Comparison, title: str, kind: Kind, priority: int) -> list[Column]:
    """A column for the figure of the first network, and one for the difference of each other network.

    For two networks, the difference has a higher priority than the figure.  For more, the columns of a figure are
    dropped together, columns of the parameters last.
    """
    others = comparison.titles[1:]
    if len(others) == 1:
        return [Column(title, kind, min(priority, ALWAYS - 1)), Column(f"Δ {title}", "difference", priority)]
    priority = min(priority, ALWAYS if title == "params" else ALWAYS - 1)
    return [Column(title, kind, priority), *(Column(f"Δ {name}", "difference", priority) for name in others)]


def _figure_cells(values: Sequence[Dim | None], unit: Unit) -> list[Any]:
    """The figure of the first network, and the differences of the others, None for no difference."""
    first, *others = values
    return [in_unit(value, unit) for value in (first, *(change(first, other) or None for other in others))]


def in_unit(value: Dim | None, unit: Unit) -> Any:
    """The cell of a figure of the unit."""
    return value if value is None or unit != "elements" else Elements(value)


def _sides(match: Match, value: Callable[[Layer], Any]) -> Sides:
    return Sides([None if layer is None else value(layer) for layer in match.layers])
