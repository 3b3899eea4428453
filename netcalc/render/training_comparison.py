"""Comparisons of training: losses of several runs by step, in a table and a chart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot import Chart, Series
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import ALWAYS, Column, Row, Table
from netcalc.render.training import data_text, is_wide, losses_not_finite, settings_text, steps_table
from netcalc.render.watched import some, watched_charts, watched_tables
from netcalc.training.comparison import TrainingComparison

#: Most steps in the table of a page.
_STEPS = 5


class _TrainingComparison(Presentation[TrainingComparison]):
    selected_list, listed = "", "runs"

    def page(self, result: TrainingComparison, rows: Selected[Any], view: View) -> Page:
        first, *_ = result.runs
        rates = {run.settings["lr"] for run in result.runs}
        settings = first.settings if len(rates) == 1 else {k: v for k, v in first.settings.items() if k != "lr"}
        steps = max(len(run.steps) for run in result.runs)
        head = f": {steps:,} step{'s' if steps > 1 else ''} with {first.optimizer}{settings_text(settings)}"
        yield Paragraph(
            [
                Line(head, ", ".join(dict.fromkeys(run.spec for run in result.runs)), hanging="  "),
                Line(data_text(first)),
            ]
        )
        if steps > 1:
            yield _loss_chart(result)
        yield _losses(result, steps)
        for name, run in zip(result.names, result.runs, strict=True):
            for number, table in enumerate(watched_tables(run)):
                yield table._replace(title=name) if number == 0 else table
        yield Answer([Paragraph([*_ranking(result)])])

    def data(self, result: TrainingComparison, rows: Selected[Any], view: View) -> Table:
        """All steps of all runs, for CSV."""
        tables = [steps_table(run.steps, seconds=True) for run in result.runs]
        cells = [[name, *row.cells] for name, table in zip(result.names, tables, strict=True) for row in table.rows]
        return Table([Column("run"), *tables[0].columns], [Row(row) for row in cells])

    def charts(self, result: TrainingComparison, rows: Selected[Any]) -> Iterator[Chart]:
        yield _loss_chart(result)
        for name, run in zip(result.names, result.runs, strict=True):
            yield from watched_charts(run, name)


PRESENTATIONS = {"TrainingComparison": _TrainingComparison()}


def _loss_chart(result: TrainingComparison) -> Chart:
    """Chart of the losses by step, a line for each run, on a logarithmic axis where they are far apart."""
    series = [
        Series(name, [(step.step, step.loss) for step in run.steps])
        for name, run in zip(result.names, result.runs, strict=True)
    ]
    log = is_wide([loss for run in result.runs for loss in run.losses])
    return Chart("loss", "step", "loss", series, log_y=log)


def _losses(result: TrainingComparison, steps: int) -> Table:
    """Losses of each run at some steps, and the norm of its gradients in the last."""
    numbers = some(range(1, steps + 1), _STEPS)
    columns = [
        Column("loss", "path"),
        *(Column(f"step {n}", "real", ALWAYS if n in (1, steps) else 60 - place) for place, n in enumerate(numbers)),
        Column("gradient norm", "real", 40),
    ]
    rows = [
        Row([name, *(run.losses[n - 1] if n <= len(run.steps) else None for n in numbers), run.gradient_norms[-1]])
        for name, run in zip(result.names, result.runs, strict=True)
    ]
    return Table(columns, rows)


def _ranking(result: TrainingComparison) -> Iterator[Line]:
    """Yield the last losses from the lowest to the highest, and the runs that ended before."""
    ranked = sorted(
        (run.losses[-1], name)
        for name, run in zip(result.names, result.runs, strict=True)
        if math.isfinite(run.losses[-1])
    )
    if ranked:
        listed = "; ".join(f"{name}: {loss:.4g}" for loss, name in ranked)
        yield Line(f"last loss, the lowest first: {listed}", hanging="  ")
    for name, run in zip(result.names, result.runs, strict=True):
        if (step := losses_not_finite(run.losses)) is not None:
            yield Line("", f"{name}: the loss is not finite from step {step:,} on", "bad", hanging="  ")
