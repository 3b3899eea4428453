"""The page of compute-optimal sizes: a row for each scaling law, what it was fitted to, and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netcalc.analysis.laws import ComputeOptimal, Optimum
from netcalc.render.numbers import short
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.plot.charts import COUNT, Chart, Mark, Series
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Table

_UNITS = {"flops": "FLOPs", "params": "parameters", "tokens": "tokens"}


class _Laws(Presentation[ComputeOptimal]):
    selected_list = listed = "laws"
    columns = keys_of("law", "flops", "params", "tokens", "tokens_per_param", "loss")
    names = staticmethod(lambda row: (row.law,))

    def page(self, result: ComputeOptimal, rows: Selected[Optimum], view: View) -> Page:
        written = _power if result.asked == "flops" else _count
        asked = ", ".join(map(written, result.values))
        yield Paragraph([Line(f" training of {asked} {_UNITS[result.asked]}", "compute-optimal")])
        yield self.data(result, rows, view)._replace(omitted=len(rows.others))
        if any(row.extrapolated for row in rows.shown):
            yield Paragraph([Line("* beyond the parameters or tokens of the runs that the law was fitted to")])
        yield from self.charts(result, rows)
        yield Paragraph([_source(row) for row in {row.law: row for row in rows.shown}.values()])

    def charts(self, result: ComputeOptimal, rows: Selected[Optimum]) -> Iterable[Chart]:
        """Return the losses of sizes that take the same FLOPs, by law and budget, with the best size of each."""
        return curves(rows.shown)

    def data(self, result: ComputeOptimal, rows: Selected[Optimum], view: View) -> Table:
        """Sizes by law; numbers alone for programs."""
        names = ("parameters", "tokens", "tokens/param", "FLOPs")
        keys = ("params", "tokens", "tokens_per_param", "flops")
        columns = [Column("law"), *(Column(name, "figure", key=key) for name, key in zip(names, keys, strict=True))]
        columns += [Column("loss", "figure"), Column("N ∝ C^", "figure", 30, "params_exponent")]
        if view.in_full:
            columns.append(Column("extrapolated"))
            cells = ([*_values(row), row.loss, row.params_exponent, row.extrapolated] for row in rows.shown)
        else:
            cells = ([*_texts(row)] for row in rows.shown)
        return Table(columns, [Row(row) for row in cells])


def curves(optima: Sequence[Optimum]) -> list[Chart]:
    """Return the losses of sizes that take the same FLOPs, by law and budget, with the best size of each."""
    if not any(row.curve for row in optima):
        return []
    curved = [row for row in optima if row.curve]
    laws, budgets = (list(dict.fromkeys(map(name, curved))) for name in (_law, _budget))
    series = [Series(_name(row, laws, budgets), [(point.params, point.loss) for point in row.curve]) for row in curved]
    best = [(row.law, row.params, row.loss) for row in curved if row.loss is not None]
    if len(budgets) > 1:
        for law in laws:
            line = [(params, loss) for name, params, loss in best if name == law]
            series.append(Series("best sizes" if len(laws) == 1 else f"best sizes, {law}", line, dashed=True))
    marks = [Mark(params, loss, _count(params)) for _, params, loss in best]
    title = "loss by size at " + (budgets[0] if len(budgets) == 1 else "equal FLOPs")
    title += f", {laws[0]}" if len(laws) == 1 else ""
    return [Chart(title, "parameters", "loss (nats/token)", series, log_x=True, x_unit=COUNT, marks=marks)]


PRESENTATIONS = {"ComputeOptimal": _Laws()}


def _values(row: Optimum) -> list[object]:
    return [row.law, row.params, row.tokens, row.tokens_per_param, row.flops]


def _texts(row: Optimum) -> Iterator[str]:
    yield f"{row.law} *" if row.extrapolated else row.law
    yield from (_count(row.params), _count(row.tokens), f"{row.tokens_per_param:,.3g}", _power(row.flops))
    yield "" if row.loss is None else f"{row.loss:.3f}"
    yield f"{row.params_exponent:.2f}"


def _law(row: Optimum) -> str:
    return row.law


def _budget(row: Optimum) -> str:
    return f"{_power(row.flops)} FLOPs"


def _name(row: Optimum, laws: Sequence[str], budgets: Sequence[str]) -> str:
    """Return the name of a curve: what distinguishes it from the others of a chart."""
    return row.law if len(budgets) == 1 else _budget(row) if len(laws) == 1 else f"{row.law}, {_budget(row)}"


def _count(value: float) -> str:
    return short(round(value), elements=True)


def _power(value: float) -> str:
    return f"{value:.3g}".replace("e+", "e")


def _source(row: Optimum) -> Line:
    """Return the line of a law: what it is, what it counts, its source, and remarks."""
    remarks = "".join(f". {note[:1].upper()}{note[1:]}" for note in row.notes)
    return Line(f": {row.about}, of {row.counts}. {row.source}{remarks}", row.law, hanging="  ")
