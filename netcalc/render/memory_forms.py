"""Memory at symbolic sizes: the moments of the peak of activations, and the closed forms of all parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.analysis.closed_forms import ClosedForm
from netcalc.analysis.memory_forms import memory_formulas
from netcalc.analysis.memory_report import MemoryReport
from netcalc.analysis.symbolic_peaks import SymbolicPeak
from netcalc.analysis.symbolic_step import SymbolicStep
from netcalc.diagnostics import NetcalcError
from netcalc.dims import default_of
from netcalc.render.formulas import clipped
from netcalc.render.numbers import exact
from netcalc.render.page import Answer, Line, Paragraph
from netcalc.render.table import Column, Row, Table

#: Characters of a formula in a line of text.
_LONGEST = 400
#: Moments of a step of training that a page shows.
_MOMENTS = 8
_TITLES = {
    "activations_ideal": "activations, ideal",
    "activations_eager": "activations, eager",
    "master": "weights of the optimizer",
    "states": "states of the optimizer",
    "kept": "kept for the backward pass",
    "peak_of_step": "peak of the step, beside weights and states",
}


def peak_table(peak: SymbolicPeak, order: Sequence[str]) -> Table:
    """Return the moments whose maximum the peak of the activations is."""
    live = "live bytes" if len(peak.moments) == 1 else "live bytes, the most of"
    columns = [
        Column(f"{peak.execution} execution, at", "path"),
        Column(live, "total", symbols=tuple(order)),
        Column("at the defaults", "bytes", 60),
    ]
    rows = [Row([moment.at, moment.bytes, default_of(moment.bytes)]) for moment in peak.moments]
    return Table(columns, rows)


def step_table(step: SymbolicStep, order: Sequence[str]) -> Table:
    """Return the moments of a step of training whose maximum the peak is, beside weights and states."""
    columns = [
        Column("step of training, at", "path"),
        Column("during", priority=30),
        Column("live bytes", "total", symbols=tuple(order)),
        Column("at the defaults", "bytes", 60),
    ]
    shown = step.moments[:_MOMENTS]
    rows = [Row([moment.at, moment.during, moment.bytes, default_of(moment.bytes)]) for moment in shown]
    return Table(columns, rows, omitted=len(step.moments) - len(shown))


def form_paragraphs(report: MemoryReport) -> Iterator[Answer | Paragraph]:
    """Yield the assumptions, and the closed forms as the answer."""
    try:
        found = memory_formulas(report)
    except NetcalcError:  # of memory without symbols
        return
    if found.assumptions:
        yield Paragraph([Line(f"assuming {claim}") for claim in found.assumptions])
    yield Answer([Paragraph([Line("", _written(form), hanging="  ") for form in found.formulas])])


def _written(form: ClosedForm) -> str:
    name = _TITLES.get(form.figure, form.figure.replace("_", ", ", 1))
    formula = clipped(form.formula, _LONGEST)
    at = "" if form.value is None else f"; {exact(form.value)} B at the defaults"
    return f"{name} = {formula} B{at}"
