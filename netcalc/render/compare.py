"""The pages of ``compare``: networks side by side, their totals, operations and layers that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.compare import COMPARED, Comparison, Match, change, ratio
from netcalc.analysis.conventions import convention_named
from netcalc.analysis.figures import FIGURES, Figure
from netcalc.ir import join
from netcalc.render.compare_tables import (
    attributes_table,
    figures_of,
    in_unit,
    layers_table,
    match_row,
    operations_table,
    titled,
    tree_rows,
)
from netcalc.render.numbers import shape_text
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.signature import element_type
from netcalc.render.table import Column, Row, Table, is_folded

if TYPE_CHECKING:
    from netcalc.render.plot import Drawing


class _Entry(NamedTuple):
    """An innermost match with its full path; ``present`` is True for each network that has the enclosing part."""

    path: str
    match: Match
    present: Sequence[bool]

    @property
    def op(self) -> str:
        """The operation, of the first network that has the layer."""
        return next(layer.op for layer in self.match.layers if layer is not None)

    def difference(self, figure: Figure) -> Any:
        """The largest difference of a figure from the first network, for sorting."""
        first, *others = self.match.figures(figure.name)
        changes = [change(first, other) for other in others]
        return max((value if isinstance(value, int) else 0 for value in changes), key=abs, default=0)


class _Comparison(Presentation[Comparison]):
    names = staticmethod(lambda entry: (entry.match.path, entry.op))

    def rows(self, result: Comparison, view: View) -> Sequence[_Entry]:
        if view.is_tree:
            return ()
        return list(_flat(result.layers, result.depth, result.all, "", (True,) * len(result.titles)))

    def keys(self, result: Comparison) -> Mapping[str, Callable[[_Entry], Any]]:
        keys: dict[str, Callable[[_Entry], Any]] = {
            "path": lambda entry: entry.match.path,
            "op": lambda entry: entry.op,
            "repeat": lambda entry: entry.match.repeat,
        }
        for figure in COMPARED:
            keys[figure.name] = lambda entry, figure=figure: abs(entry.difference(figure))  # type: ignore[misc]
        return keys

    def page(self, result: Comparison, rows: Selected[_Entry], view: View) -> Page:
        if view.is_tree:
            table = layers_table(result, tree_rows(result, result.depth, result.all))
        else:
            shown = [match_row(result, entry.path, entry.match, entry.present) for entry in rows.shown]
            table = layers_table(result, shown)._replace(omitted=len(rows.others))
        return chain(_page(result, table), self.charts(result, rows) if view.charts else ())

    def charts(self, result: Comparison, rows: Selected[_Entry]) -> Iterator[Drawing]:
        """Yield the totals of each network, of parts by operation."""
        from netcalc.render.shares import composition

        counted = [figure for figure in figures_of(result) if figure.unit in ("macs", "flops")]
        for figure in ([] if result.convention is None else [FIGURES["params"]]) + counted[-1:]:
            if (chart := composition(result, figure)) is not None:
                yield chart

    def data(self, result: Comparison, rows: Selected[_Entry], view: View) -> Table:
        """The layers with the figures of each network and the differences from the first network, for CSV."""
        columns = [Column("path"), Column("repeat", "total")]
        for place, name in enumerate(result.titles):
            columns += [Column(f"{name} op"), Column(f"{name} inputs", "shapes"), Column(f"{name} outputs", "shapes")]
            columns += [Column(f"{name} {figure.name}", "total") for figure in COMPARED]
            columns += [Column(f"{name} {figure.name} difference", "total") for figure in COMPARED if place]
        return Table(columns, [Row(_data_cells(entry.match)) for entry in rows.shown])

    def recorded(self, result: Comparison, rows: Selected[_Entry]) -> Mapping[str, Any]:
        return {"layers": [entry.match for entry in rows.shown]}


PRESENTATIONS = {"Comparison": _Comparison()}


def _data_cells(match: Match) -> list[Any]:
    cells: list[Any] = [match.path, match.repeat]
    for place, layer in enumerate(match.layers):
        if layer is None:
            cells += [None] * (3 + len(COMPARED))
        else:
            cells += [layer.op, layer.inputs, layer.outputs, *(figure.of(layer) for figure in COMPARED)]
        if place:
            figures = [match.figures(figure.name) for figure in COMPARED]
            cells += [change(values[0], values[place]) for values in figures]
    return cells


# -- parts ------------------------------------------------------------------------------------------


def _page(comparison: Comparison, layers: Table) -> Page:
    yield Paragraph(list(_head(comparison)))
    notes = [Line(note) for note in _notes(comparison, is_folded(layers.rows))]
    yield Answer([_totals(comparison)])
    operations = [match for match in comparison.operations if comparison.all or match.differs]
    attributes = attributes_table(comparison)
    for table in (operations_table(comparison, operations), layers, attributes):
        if table.rows:
            yield table
    if notes:
        yield Paragraph(notes)


def _head(comparison: Comparison) -> Iterator[Line]:
    columns = zip(comparison.names, comparison.inputs, comparison.outputs, strict=True)
    for name, (inputs, outputs) in {name: sides for name, *sides in columns}.items():
        sides = [
            ", ".join(f"{key} {shape_text(type_.shape)} {type_.dtype}" for key, type_ in side.items())
            for side in (inputs, outputs)
        ]
        yield Line(f": {sides[0] or 'no inputs'} → {sides[1]}", name, hanging="  ")
    yield from _stored(comparison)
    for convention in dict.fromkeys(comparison.conventions):
        yield Line(f"counted as {convention} does: {convention_named(convention).about}", hanging="  ")


def _stored(comparison: Comparison) -> Iterator[Line]:
    """Yield how the parameters of each network are stored, and the remarks on it."""
    texts: dict[str, None] = {}
    stored = zip(comparison.dtypes, comparison.checkpoint_dtypes, comparison.stored_as, strict=True)
    columns = zip(comparison.names, stored, comparison.totals, comparison.notes, strict=True)
    for name, types, totals, notes in columns:
        lines = [line.text for line in element_type(*types, FIGURES["weight_bytes"].of(totals))]
        texts |= dict.fromkeys(f"{name}: {text}" for text in (*lines, *notes))
    yield from (Line(text, hanging="  ") for text in texts)


def _totals(comparison: Comparison) -> Table:
    """The totals of each network, differences from the first network, and ratios to it."""
    first, *others = comparison.titles
    columns = [Column("total", "prose"), Column(first, "work")]
    for name in others:
        columns += [Column(name, "work"), Column("difference", "difference", 40), Column("ratio", "ratio", 30)]
    rows = []
    shown = figures_of(comparison)
    for figure in comparison.shown_totals():
        values = [figure.of(totals) for totals in comparison.totals]
        if all(value == 0 for value in values) or (figure.name == "flops" and figure not in shown):
            continue
        if figure.name == "params_trainable" and values == [totals.params for totals in comparison.totals]:
            continue
        cells: list[Any] = [titled(comparison, figure, figure.total or ""), in_unit(values[0], figure.unit)]
        for value in values[1:]:
            difference = change(values[0], value)
            cells += [in_unit(value, figure.unit), in_unit(difference, figure.unit), ratio(values[0], value)]
        rows.append(Row(cells))
    return Table(columns, rows)


def _notes(comparison: Comparison, folded: bool) -> Iterator[str]:
    for convention, operations in comparison.uncounted.items():
        if operations:
            yield f"not counted by {convention}: {', '.join(operations)}"
    if comparison.same:
        yield "no layer differs"
    elif not comparison.all:
        count = sum(match.repeat for match in comparison.rows(depth=comparison.depth, all=True) if not match.differs)
        if count:
            yield f"{count:,} layer{'s' * (count != 1)} without differences not shown; --all shows them"
    if folded:
        yield "×N: figures are those of one of the N instances; totals include all of them."


def _flat(
    matches: Sequence[Match], depth: int | None, all_: bool, prefix: str, present: Sequence[bool]
) -> Iterator[_Entry]:
    for match in matches:
        path = join(prefix, match.label)
        if match.children and (depth is None or match.path.count(".") + 1 < depth):
            yield from _flat(match.children, depth, all_, path, present)
        elif all_ or match.differs or None in match.layers:
            yield _Entry(path, match, present)
