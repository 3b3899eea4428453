"""The page of compute-optimal sizes: a row for each scaling law, what it was fitted to, and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
        asked = _power(result.value) if result.asked == "flops" else _count(result.value)
        yield Paragraph([Line(f" training of {asked} {_UNITS[result.asked]}", "compute-optimal")])
        yield self.data(result, rows, view)._replace(omitted=len(rows.others))
        if any(row.extrapolated for row in rows.shown):
            yield Paragraph([Line("* beyond the parameters or tokens of the runs that the law was fitted to")])
        yield Paragraph([_source(row) for row in rows.shown])

    def charts(self, result: ComputeOptimal, rows: Selected[Optimum]) -> Iterable[Chart]:
        """Return the losses of sizes that take the same FLOPs, by law, with the best size of each."""
        curves = [row for row in rows.shown if row.curve]
        if not curves:
            return ()
        series = [Series(row.law, [(point.params, point.loss) for point in row.curve]) for row in curves]
        marks = [Mark(row.params, row.loss, _count(row.params)) for row in curves if row.loss is not None]
        budgets = " and ".join(dict.fromkeys(_power(row.flops) for row in curves))
        title = f"loss by size at {budgets} FLOPs"
        return [Chart(title, "parameters", "loss (nats/token)", series, log_x=True, x_unit=COUNT, marks=marks)]

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


PRESENTATIONS = {"ComputeOptimal": _Laws()}


def _values(row: Optimum) -> list[object]:
    return [row.law, row.params, row.tokens, row.tokens_per_param, row.flops]


def _texts(row: Optimum) -> Iterator[str]:
    yield f"{row.law} *" if row.extrapolated else row.law
    yield from (_count(row.params), _count(row.tokens), f"{row.tokens_per_param:,.3g}", _power(row.flops))
    yield "" if row.loss is None else f"{row.loss:.3f}"
    yield f"{row.params_exponent:.2f}"


def _count(value: float) -> str:
    return short(round(value))


def _power(value: float) -> str:
    return f"{value:.3g}".replace("e+", "e")


def _source(row: Optimum) -> Line:
    """Return the line of a law: what it is, what it counts, its source, and remarks."""
    remarks = "".join(f". {note[:1].upper()}{note[1:]}" for note in row.notes)
    return Line(f": {row.about}, of {row.counts}. {row.source}{remarks}", row.law, hanging="  ")
