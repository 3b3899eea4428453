"""Pages, tables and charts of signals at initialization."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from netcalc.analysis.signal.report import (
    Figures,
    Finding,
    Reach,
    SignalComparison,
    SignalReport,
    SignalRow,
    Stage,
    Trend,
)
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot import Chart, Mark, Series
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.steps import distances
from netcalc.render.table import ALWAYS, Column, Kind, Row, Table

#: Reasons for missing predictions that a page names.
_GAPS = 3
#: Findings that are about no layer.
_CALM = ("steady", "too short")


class _Column(NamedTuple):
    title: str
    key: str
    priority: int
    predicted: int | None
    kind: Kind = "real"


_COLUMNS = (
    _Column("mean", "mean", 20, 10),
    _Column("variance", "variance", ALWAYS, 90),
    _Column("mean²", "channel_square", 45, 25),
    _Column("var", "channel_variance", 30, 15),
    _Column("saturated", "saturated", 60, 22, "percentage"),
    _Column("dead", "dead", 58, None, "percentage"),
    _Column("gain", "gain", 50, 12),
    _Column("gradient", "gradient", 85, 80),
    _Column("back", "back", 48, 11),
)
_NOTE = (
    "gradient: norm of the gradient of the output; gain, back: factors by which the layer multiplies the root mean "
    "square of its input and the norm of the gradient of its output; mean², var: means over channels of their squared "
    "means and of their variances"
)
_STAGES_NOTE = (
    "rms: root mean square of the outputs; rms·gradient: times the norm of their gradient, which no scale of weights "
    "changes; per line: its factor from the first line to the last; change: of 10 or more, with its lines"
)
#: Figures that are drawn by depth, with the titles of their charts.
_PLOTS = {"variance of activations": "variance", "norm of gradients": "gradient"}


def _measured(figure: str) -> Callable[[SignalRow], float]:
    """Return the reader of a measured figure of a row; −1 where there is none, so that it is sorted to the end."""

    def read(row: SignalRow) -> float:
        value = getattr(row.measured, figure)
        return -1.0 if value is None else float(value)

    return read


#: Columns to sort by: the name of an operation, and its measured figures.
_KEYS = {**keys_of("path", "op"), **{column.key: _measured(column.key) for column in _COLUMNS}}


class _Signal(Presentation[SignalReport]):
    columns = _KEYS

    def rows(self, result: SignalReport, view: View) -> Sequence[SignalRow]:
        return result.rows

    def page(self, result: SignalReport, rows: Selected[SignalRow], view: View) -> Page:
        yield Paragraph([Line(_head(result), result.spec)])
        yield _table(rows.shown)._replace(omitted=len(rows.others))
        yield Paragraph([Line("", _NOTE, "dim")])
        if result.stages:
            yield _stages(result.stages)
            yield Paragraph([Line("", _STAGES_NOTE, "dim")])
        for reach in result.through_time:
            yield Paragraph([Line(": gradient of the last outputs by distance in steps", reach.path)])
            yield _through_time(reach)
        if view.charts:
            yield from self.charts(result, rows)
        yield Answer(
            [
                Paragraph([Line(f": {finding.text}", _lead(finding), hanging="  "), *_advice(finding)])
                for finding in result.findings
            ]
        )
        yield from _remarks(result)

    def data(self, result: SignalReport, rows: Selected[SignalRow], view: View) -> Table:
        return _data(rows.shown)

    def charts(self, result: SignalReport, rows: Selected[SignalRow]) -> Iterator[Chart]:
        shown = _plotted(result)
        measured, predicted = [row.measured for row in shown], [row.predicted for row in shown]
        names = [(number, row.path) for number, row in enumerate(shown, start=1)]
        lines: list[tuple[str, Sequence[Figures], bool]] = [
            ("measured", measured, False),
            ("predicted", predicted, True),
        ]
        by_layer = len(shown) > 1 or not result.through_time  # a single layer is seen through time
        for figure, chart in _charts(result.spec, lines) if by_layer else ():
            yield chart._replace(names=names, marks=[*_marks(result.findings, shown, figure)])
        for reach in result.through_time:
            yield _chart_through_time(result.spec, reach)


class _Comparison(Presentation[SignalComparison]):
    listed = "reports"
    columns = _KEYS

    def rows(self, result: SignalComparison, view: View) -> Sequence[SignalRow]:
        return _joined(result.reports)

    def page(self, result: SignalComparison, rows: Selected[SignalRow], view: View) -> Page:
        """Page of a comparison: the variances and gradients of the selected layers, by path."""
        comparison = _with_rows(result, rows)
        first = comparison.reports[0]
        paths = [row.path for row in rows.shown]
        shown = [row.path for row in rows.shown if row.weighted or view.selection.active] or paths
        specs = ", ".join(dict.fromkeys(report.spec for report in comparison.reports))
        yield Paragraph([Line(_head(first, initializers=bool(result.titles), mode=_mode(result)), specs)])
        yield _comparison_table("variance", "variance", comparison, shown)
        if any(row.measured.gradient is not None for row in rows.shown):
            yield _comparison_table("norm of gradient", "gradient", comparison, shown)
        for name, report in zip(result.names, result.reports, strict=True):
            if report.stages:
                yield Paragraph([Line(": stages", name)])
                yield _stages(report.stages)
        if any(report.stages for report in result.reports):
            yield Paragraph([Line("", _STAGES_NOTE, "dim")])
        if view.charts:
            yield from self.charts(comparison, rows)
        yield Answer(
            [
                Paragraph([Line(f": {_lead(finding)}: {finding.text}", name, hanging="  "), *_advice(finding)])
                for name, report in zip(result.names, result.reports, strict=True)
                for finding in report.findings
            ]
        )
        yield from _remarks(first)

    def data(self, result: SignalComparison, rows: Selected[SignalRow], view: View) -> Table:
        """All figures of all networks or initializers, for CSV."""
        comparison = _with_rows(result, rows)
        tables = [_data(report.rows) for report in comparison.reports]
        cells = ([name, *row.cells] for name, table in zip(result.names, tables, strict=True) for row in table.rows)
        return Table([Column("network" if result.titles else "init"), *tables[0].columns], [Row(row) for row in cells])

    def charts(self, result: SignalComparison, rows: Selected[SignalRow]) -> Iterator[Chart]:
        drawn = {name: _plotted(report) for name, report in zip(result.names, result.reports, strict=True)}
        lines = [(name, [row.measured for row in shown], False) for name, shown in drawn.items()]
        paths = {tuple(row.path for row in shown) for shown in drawn.values()}
        names = (
            [*enumerate(next(iter(paths)), start=1)] if len(paths) == 1 else []
        )  # else equal numbers are different layers
        for _, chart in _charts(", ".join(dict.fromkeys(report.spec for report in result.reports)), lines):
            yield chart._replace(names=names)

    def recorded(self, result: SignalComparison, rows: Selected[SignalRow]) -> Mapping[str, Any]:
        return {"reports": _with_rows(result, rows).reports}


PRESENTATIONS = {"SignalReport": _Signal(), "SignalComparison": _Comparison()}


def _with_rows(comparison: SignalComparison, rows: Selected[SignalRow]) -> SignalComparison:
    """Return the comparison with the selected layers only."""
    paths = {row.path for row in rows.shown}
    reports = (
        replace(report, rows=tuple(row for row in report.rows if row.path in paths)) for report in comparison.reports
    )
    return replace(comparison, reports=tuple(reports))


def _joined(reports: Sequence[SignalReport]) -> Sequence[SignalRow]:
    """Return the rows of the first report, and those of others that it lacks, each behind the row before it."""
    joined = {row.path: row for row in reports[0].rows}
    for report in reports[1:]:
        order = list(joined)
        after: dict[str, list[str]] = {}
        before = ""
        for row in report.rows:
            if row.path not in joined:
                after.setdefault(before, []).append(row.path)
            else:
                before = row.path
        own = {row.path: row for row in report.rows}
        places = (path for known in ["", *order] for path in (known, *after.get(known, ())) if path)
        joined = {path: joined.get(path) or own[path] for path in places}
    return list(joined.values())


def _data(rows: Sequence[SignalRow]) -> Table:
    """All figures of rows, measured and predicted, for CSV."""
    columns = [Column("path"), Column("op"), Column("shape", "shape"), *_figure_columns(_COLUMNS)]
    columns += [Column("gap"), Column("gradient_gap"), Column("note")]
    cells = ([row.path, row.op, row.shape, *_cells(row, _COLUMNS), row.gap, row.gradient_gap, row.note] for row in rows)
    return Table(columns, [Row(row) for row in cells])


def _charts(spec: str, lines: Sequence[tuple[str, Sequence[Figures], bool]]) -> Iterator[tuple[str, Chart]]:
    """Yield variance and gradients with their charts, of lines with their names, figures, and True if predicted."""
    for title, figure in _PLOTS.items():
        series = [
            Series(name, points, dashed)
            for name, layers, dashed in lines
            if (points := _points([getattr(layer, figure) for layer in layers]))
        ]
        if any(not line.dashed for line in series):
            yield figure, Chart(f"{spec}: {title}", "layer", title, series, log_y=True)


def _marks(findings: Sequence[Finding], rows: Sequence[SignalRow], figure: str) -> Iterator[Mark]:
    """Yield the marks of the layers from which the signals of a figure vanish or explode."""
    for finding in findings:
        about = "gradient" if "gradient" in finding.kind else "variance"
        for number, row in enumerate(rows, start=1):
            value = getattr(row.measured, figure)
            if row.path == finding.path and about == figure and value and finding.kind not in _CALM:
                yield Mark(number, value, _lead(finding))


def _plotted(report: SignalReport) -> Sequence[SignalRow]:
    """Return the layers with weights, or all rows if there are few."""
    return report.layers if len(report.layers) > 1 else report.rows


def _points(values: Sequence[float | None]) -> list[tuple[float, float]]:
    """Return the values against the number of their layer; an unknown one leaves a gap."""
    if all(value is None for value in values):
        return []
    return [(number, float("nan") if value is None else value) for number, value in enumerate(values, start=1)]


def _mode(comparison: SignalComparison) -> str:
    """Return the networks that are in training mode in words, as the head of a page names them."""
    training = [report.training for report in comparison.reports]
    if not any(training):
        return ""
    names = (name for name, report in zip(comparison.names, comparison.reports, strict=True) if report.training)
    return ", training mode" if all(training) else f", training mode of {' and '.join(names)}"


def _head(report: SignalReport, *, initializers: bool = True, mode: str | None = None) -> str:
    seeds = f"means of {len(report.seeds)} seeds" if len(report.seeds) > 1 else f"seed {report.seeds[0]}"
    chosen = [init for init in report.inits if init != "default"]
    inits = f"; initializers: {', '.join(chosen)}" if chosen and initializers else ""
    if mode is None:
        mode = ", training mode" if report.training else ""
    loss = {
        "random": "sum of the outputs with random weights",
        "sum": "sum of the outputs",
        "loss": "loss of the spec",
    }.get(report.loss, f"sum of {report.loss}")
    gradients = report.gradients or f"gradients of the {loss}"
    return f": signals at initialization, {seeds}{mode}{inits}; {gradients}"


def _table(rows: Sequence[SignalRow]) -> Table:
    """Rows with the figures that any of them has; predictions stand beside what was measured."""
    used = [column for column in _COLUMNS if any(getattr(row.measured, column.key) is not None for row in rows)]
    columns = [Column("layer", "path"), Column("operation", priority=40), *_figure_columns(used)]
    return Table(columns, [Row([row.path, row.op, *_cells(row, used)]) for row in rows])


def _stages(stages: Sequence[Stage]) -> Table:
    """Stages with their lines, and the two figures that are followed from line to line."""
    columns = [
        *(Column("stage", "path"), Column("lines", "count"), Column("figure"), Column("per line", "real")),
        *(Column("smallest", "real"), Column("largest", "real"), Column("change", priority=90)),
    ]
    rows = []
    for stage in stages:
        for figure, trend in (("rms", stage.activations), ("rms·gradient", stage.gradients)):
            if trend is not None:
                name = [stage.path, len(stage.lines)] if figure == "rms" else ["", None]
                rows.append(Row([*name, figure, trend.by_line, trend.smallest, trend.largest, _change(trend)]))
    return Table(columns, rows)


def _through_time(reach: Reach) -> Table:
    """Gradients and states at distances from the last step."""
    columns = [
        Column("distance", "total"),
        Column("step", "count"),
        Column("gradient", "real"),
        Column("state", "real"),
    ]
    steps = ((d, reach.steps - d) for d in distances(reach.steps))
    return Table(columns, [Row([d, step, reach.gradients[d], reach.states[step - 1]]) for d, step in steps])


def _chart_through_time(spec: str, reach: Reach) -> Chart:
    title = "gradient of the last outputs"
    lines = [Series("measured", [*enumerate(reach.gradients)])]
    if reach.predicted is not None:
        predicted = [(d, reach.gradients[0] * reach.predicted**d) for d in range(reach.steps)]
        lines.append(Series("predicted", predicted, dashed=True))
    return Chart(f"{spec}: {title} at {reach.path}", "distance in steps", title, lines, log_y=True)


def _change(trend: Trend) -> str:
    """Return the lines of growths with their factors to a digit, as in ``1–20 ×1e6``."""
    return ", ".join(f"{growth.first}–{growth.last} ×{_digit(growth.factor)}" for growth in trend.growths)


def _digit(factor: float) -> str:
    digit, _, power = f"{factor:.0e}".partition("e")
    return f"{digit}e{int(power)}" if power else digit


def _figure_columns(columns: Sequence[_Column]) -> Iterator[Column]:
    for title, key, priority, predicted, kind in columns:
        yield Column(title, kind, priority, key)
        if predicted is not None:
            yield Column("predicted", kind, predicted, f"predicted_{key}")


def _cells(row: SignalRow, columns: Sequence[_Column]) -> Iterator[float | None]:
    for column in columns:
        yield getattr(row.measured, column.key)
        if column.predicted is not None:
            yield getattr(row.predicted, column.key)


def _lead(finding: Finding) -> str:
    return finding.kind if finding.kind in _CALM else f"{finding.kind} from {finding.path}"


def _advice(finding: Finding) -> Iterator[Line]:
    if finding.why:
        yield Line(f"why: {finding.why}", hanging="  ")
    if finding.help:
        yield Line(f"what would help: {finding.help}", hanging="  ")


def _remarks(report: SignalReport) -> Page:
    """Lines on predictions that are missing and on what they neglect, and a remark on a single datum."""
    lines = [Line(f"not predicted: {gap}", hanging="  ") for gap in report.gaps[:_GAPS]]
    if len(report.gaps) > _GAPS:
        lines.append(Line(f"not predicted: {len(report.gaps) - _GAPS} further reasons, in --format json"))
    lines += [Line(f"neglected from {path}: {note}", hanging="  ") for path, note in report.notes[:_GAPS]]
    if report.data == 1:
        lines.append(Line("one datum for each channel: squared means of channels say nothing; --set batch=64 has more"))
    if lines:
        yield Paragraph(lines)


def _comparison_table(title: str, figure: str, comparison: SignalComparison, shown: Sequence[str]) -> Table:
    """Table of a measured figure of the layers ``shown``, by path, with a column for each report."""
    by_path = [{row.path: row for row in report.rows} for report in comparison.reports]
    names = (Column(name, "real", ALWAYS if n < 4 else 50 - n) for n, name in enumerate(comparison.names))
    rows = [
        Row([path, *(getattr(layers[path].measured, figure) if path in layers else None for layers in by_path)])
        for path in shown
    ]
    return Table([Column(title, "path"), *names], rows)
