"""Results of training: the page, the loss curve, and the table of steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.render.numbers import exact
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.plot import Chart, Mark, Series
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import ALWAYS, Column, Row, Table
from netcalc.render.watched import some, watched_charts, watched_columns, watched_tables
from netcalc.training.result import TrainingResult, TrainingStep

#: Most steps in the table of a page; of more, some at equal distances are shown.
_ROWS = 20
#: Ratio of the greatest to the least loss from which the axis is logarithmic.
_RATIO = 100


class _Training(Presentation[TrainingResult]):
    selected_list, listed = "", "steps"

    def page(self, result: TrainingResult, rows: Selected[Any], view: View) -> Page:
        count = len(result.steps)
        head = (
            f": {exact(count)} step{'s' if count > 1 else ''} with {result.optimizer}{settings_text(result.settings)}"
        )
        lines = [Line(head, result.spec), Line(data_text(result))]
        if result.resumed:
            lines.append(Line(f"the first {exact(result.resumed)} are those of the checkpoint"))
        yield Paragraph(lines)
        if count > 1:
            yield _loss_chart(result)
        shown = some(result.steps, _ROWS)
        yield steps_table(shown)._replace(omitted=count - len(shown))
        yield from watched_tables(result)
        change, style = _change(result.losses)
        yield Paragraph([Line("", change, style), Line("", f"{result.seconds_per_step:.3g} s for each step", "dim")])

    def data(self, result: TrainingResult, rows: Selected[Any], view: View) -> Table:
        table = steps_table(result.steps, seconds=True)
        watched = [*watched_columns(result)]
        full = [Row([*row.cells, *(values[place] for _, values in watched)]) for place, row in enumerate(table.rows)]
        return table._replace(columns=[*table.columns, *(column for column, _ in watched)], rows=full)

    def charts(self, result: TrainingResult, rows: Selected[Any]) -> Sequence[Chart]:
        return [_loss_chart(result), *watched_charts(result, result.spec)]


PRESENTATIONS = {"TrainingResult": _Training()}


def _loss_chart(result: TrainingResult) -> Chart:
    """Chart of the loss by step, on a logarithmic axis where it falls far."""
    points = [(step.step, step.loss) for step in result.steps]
    title = f"loss of {result.spec}, {result.optimizer}"
    series = [Series("loss", points)]
    return Chart(title, "step", "loss", series, log_y=is_wide(result.losses), marks=lowest_loss(result.steps))


def lowest_loss(steps: Sequence[TrainingStep]) -> Sequence[Mark]:
    """Return the mark of the step with the lowest loss, if there is one and it is not the only step."""
    finite = [step for step in steps if math.isfinite(step.loss)]
    if len(finite) < 2:
        return ()
    low = min(finite, key=lambda step: step.loss)
    return [Mark(low.step, low.loss, f"lowest {low.loss:.4g}, step {low.step:,}")]


def is_wide(losses: Sequence[float]) -> bool:
    """Return True if losses are so far apart that a logarithmic axis shows them better."""
    finite = [loss for loss in losses if math.isfinite(loss)]
    return bool(finite) and min(finite) > 0 and max(finite) > _RATIO * min(finite)


def settings_text(settings: Mapping[str, float]) -> str:
    """Return the settings of an optimizer in parentheses, or nothing without any."""
    listed = ", ".join(f"{name} {value:g}" for name, value in settings.items())
    return f" ({listed})" if listed else ""


def steps_table(steps: Sequence[TrainingStep], *, seconds: bool = False) -> Table:
    """Steps with loss, learning rate and norm of gradients; ``seconds`` for their times too."""
    columns = [
        Column("step", "total", key="step"),
        Column("loss", "real", ALWAYS, key="loss"),
        Column("learning rate", "real", 40, key="lr"),
        Column("gradient norm", "real", 50, key="gradient_norm"),
    ]
    if seconds:
        columns.append(Column("seconds", "real", 30, key="seconds"))
    rows = [[s.step, s.loss, s.lr, s.gradient_norm, *([s.seconds] if seconds else [])] for s in steps]
    return Table(columns, [Row(row) for row in rows])


def _change(losses: Sequence[float]) -> tuple[str, str]:
    """Return the change of the loss in words, and its style; of many steps, of the mean of a tenth of them."""
    bad = losses_not_finite(losses)
    if bad is not None:
        return (
            f"the loss is not finite from step {bad:,} on: it may help to lower --lr, or to limit gradients by --clip",
            "bad",
        )
    if len(losses) == 1:
        return f"loss {losses[0]:.4g}", ""
    span = max(1, len(losses) // 10)
    first, last = sum(losses[:span]) / span, sum(losses[-span:]) / span
    mean = f", means of {span:,} steps" if span > 1 else ""
    return f"loss {first:.4g} → {last:.4g}{mean}", "good" if last < first else "bad"


def losses_not_finite(losses: Sequence[float]) -> int | None:
    """Return the number of the first step whose loss is not finite; None if there is none."""
    return next((number for number, loss in enumerate(losses, 1) if not math.isfinite(loss)), None)


def data_text(result: TrainingResult) -> str:
    """Return the origin of the data in words."""
    drawn = f"drawn with seed {result.seed}"
    if result.data == "synthetic":
        return f"synthetic data: one batch {drawn}, the same in every step; weights and masks by the same seed"
    samples = f"{exact(result.samples)} samples in batches of {exact(result.batch)}, " if result.samples > 1 else ""
    return f"{result.data}: {samples}order, weights and masks {drawn}"
