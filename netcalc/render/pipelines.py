"""The page of a pipeline: its networks with their figures, and its other parts by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from netcalc.analysis.figures import FIGURES
from netcalc.analysis.pipeline import PartFigures, PipelinePart, PipelineSummary
from netcalc.render.numbers import bytes_text, measured, work
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import ALWAYS, Column, Row, Table

if TYPE_CHECKING:
    from netcalc.render.plot import Drawing

_FIGURES = (
    Column("params", "count"),
    Column("MACs", "work", ALWAYS - 2, key="macs"),
    Column("FLOPs", "work", key="flops"),
    Column("bytes", "bytes", key="weight_bytes"),
)


class _Pipeline(Presentation[PipelineSummary]):
    selected_list = listed = "parts"
    names = staticmethod(attrgetter("name", "kind"))
    columns = keys_of("name", "library", "params", "macs", "flops", "weight_bytes")

    def page(self, result: PipelineSummary, rows: Selected[PipelinePart], view: View) -> Page:
        yield Paragraph([Line(f": {result.kind}, a pipeline of {len(result.parts):,} parts", result.name)])
        yield Answer([Paragraph([*_totals(result)])])
        yield self._table(result, rows, view)
        notes = [*_notes(result)]
        if view.layout != "nchw":
            notes.append(Line("--layout orders the axes of networks; inputs of parts are printed as they are"))
        if notes:
            yield Paragraph(notes)
        if view.charts:
            yield from self.charts(result, rows)

    def charts(self, result: PipelineSummary, rows: Selected[PipelinePart]) -> Iterator[Drawing]:
        """Yield the shares of the networks in parameters and work."""
        from netcalc.render.shares import shares_chart

        for name in ("params", "flops"):
            figure = FIGURES[name]
            sizes = [(part.name, getattr(part.figures, name)) for part in rows.shown if part.figures is not None]
            title = f"{result.name}: {figure.total or figure.title} by part"
            chart = shares_chart(title, figure, sizes, getattr(result.totals, name))
            if chart is not None:
                yield chart

    def _table(self, result: PipelineSummary, rows: Selected[PipelinePart], view: View) -> Table:
        """The table of the networks; of all parts with totals unless some are selected."""
        columns = [
            Column("part", "name"),
            Column("class", "text", ALWAYS - 1),
            *_FIGURES,
            Column("type", priority=ALWAYS - 3),
            Column("inputs", "named_shapes", ALWAYS - 4),
        ]
        shown = [Row([part.name, part.kind, *_values(part)]) for part in rows.shown if part.model is not None]
        totals = () if view.selection.active else [Row(["total", None, *result.totals, None, None])]
        return Table(columns, shown, totals, omitted=len(rows.others))

    def data(self, result: PipelineSummary, rows: Selected[PipelinePart], view: View) -> Table:
        columns = [
            *(Column(key) for key in ("name", "library", "class", "model")),
            *(Column(key, "total") for key in PartFigures._fields),
            *(Column("dtype"), Column("inputs", "named_shapes"), Column("problem", "prose")),
        ]
        cells = ([p.name, p.library, p.kind, p.model, *_values(p), p.problem] for p in rows.shown)
        return Table(columns, [Row(row) for row in cells])


def _values(part: PipelinePart) -> Iterator[Any]:
    """Yield figures, element type and inputs of a part."""
    yield from part.figures or (None,) * len(_FIGURES)
    yield part.dtype
    yield [(name, type_.shape) for name, type_ in part.inputs.items()] if part.inputs is not None else None


def _totals(result: PipelineSummary) -> Iterator[Line]:
    totals, counted = result.totals, [part for part in result.parts if part.figures is not None]
    networks = [part for part in result.parts if part.model is not None]
    least = "" if len(counted) == len(networks) else f" of {len(counted):,} of {len(networks):,} networks"
    yield Line(f"{least}; {bytes_text(totals.weight_bytes)} of weights", f"{measured(totals.params)} parameters")
    by = f" in a forward pass of each network, counted as {result.convention} does"
    yield Line(by, f"{work(totals.macs, 'MAC')}, {work(totals.flops, 'FLOP')}")


def _notes(result: PipelineSummary) -> Iterator[Line]:
    others = [f"{part.name} ({part.kind})" for part in result.parts if part.model is None]
    if others:
        yield Line(f"without a network: {', '.join(others)}", hanging="  ")
    for part in result.parts:
        if part.problem is not None:
            yield Line(f"{part.name} is not counted: {part.problem}", hanging="  ")


PRESENTATIONS: Mapping[str, Presentation[Any]] = {"PipelineSummary": _Pipeline()}
