"""Errors of runs whose parameters are rounded or pruned: pages and tables."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.engine.layer_errors import KeptParameters, LayerError
from netcalc.engine.rounding import OutputError, RoundingResult
from netcalc.render.numbers import bytes_text
from netcalc.render.origin import origin_lines
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table

#: Ways in which outputs and layers were computed, by plan.
_WAYS = {"fast": "outputs by planned runs, layers by the reference kernels", "reference": "by the reference kernels"}


class _Rounding(Presentation[RoundingResult]):
    listed = ""
    columns = keys_of(
        *("path", "op", "instances", "elements", "bits", "weight_error"),
        *("error", "least", "greatest", "max_error", "decibels"),
    )

    def rows(self, result: RoundingResult, view: View) -> Sequence[LayerError]:
        return result.layers(depth=result.depth, unroll=result.unroll)

    def page(self, result: RoundingResult, rows: Selected[LayerError], view: View) -> Page:
        assigned = f"{', '.join(result.assigned)}, against full precision; {_WAYS[result.plan]}"
        yield Paragraph([*map(Line, origin_lines(result)), Line("", assigned, "bold")])
        yield _outputs(result.errors)
        yield _table(rows.shown)._replace(omitted=len(rows.others))
        if result.kept:
            yield _kept_table(result.kept)
        memory = f"predicted peak memory of both in lockstep: {bytes_text(result.memory.peak)}"
        yield Paragraph([Line("", memory, "dim")])

    def data(self, result: RoundingResult, rows: Selected[LayerError], view: View) -> Table:
        return _table(rows.shown, complete=True)


PRESENTATIONS = {"RoundingResult": _Rounding()}


def _outputs(outputs: Sequence[OutputError]) -> Table:
    columns = [
        Column("output", "path", key="path"),
        Column("shape", "shape", priority=30),
        Column("error", "real"),
        Column("max error", "real", priority=40),
        Column("SNR dB", "real", priority=60),
        Column("cosine", "real", priority=50),
    ]
    rows = [
        Row([o.name, o.shape, o.deviation.relative, o.deviation.greatest, o.deviation.decibels, o.deviation.cosine])
        for o in outputs
    ]
    return Table(columns, rows)


def _table(rows: Sequence[LayerError], *, complete: bool = False) -> Table:
    """Layers with the errors of their parameters and outputs; ``complete`` also what a row of one instance repeats."""
    columns = [
        Column("layer", "path", key="path"),
        Column("operation", priority=20, key="op"),
        Column("layers", "count", priority=45, key="instances"),
        Column("stored as", priority=60, key="schemes"),
        Column("parameters", "count", priority=25, key="elements"),
        Column("bits", "real", priority=35),
        Column("weight error", "real", priority=80, key="weight_error"),
        Column("error", "real"),
        Column("least", "real", priority=12),
        Column("greatest", "real", priority=12),
        Column("max error", "real", priority=15, key="max_error"),
        Column("SNR dB", "real", priority=50, key="decibels"),
        Column("cosine", "real", priority=10),
    ]
    return Table(columns, [Row(_cells(row, complete)) for row in rows])


def _cells(row: LayerError, complete: bool) -> list[object]:
    several = row.instances > 1 or complete
    return [
        row.path,
        row.op,
        row.instances if several else 0,
        ", ".join(row.schemes),
        row.elements,
        row.bits,
        row.weight_error,
        row.error,
        row.least if several else None,
        row.greatest if several else None,
        row.max_error,
        row.decibels,
        row.output.cosine,
    ]


def _kept_table(groups: Sequence[KeptParameters]) -> Table:
    columns = [
        Column("not as assigned", "prose", key="reason"),
        Column("stored as", priority=60, key="scheme"),
        Column("tensors", "total"),
        Column("parameters", "total", key="elements"),
        Column("the first", "path", priority=40, key="paths"),
    ]
    rows = [Row([g.reason, g.scheme, g.tensors, g.elements, g.paths[0]]) for g in groups]
    return Table(columns, rows)
