"""The working behind signals at initialization: what was measured in which way, and the steps of a prediction."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.explain import Explanation, explain_program
from netcalc.analysis.signal.report import SignalReport, SignalRow
from netcalc.analysis.working import Section
from netcalc.ir import Program
from netcalc.opdef import WorkingLine

_VARIANCE = "all elements of the first output in a run with NumPy, initial parameters and inputs drawn for each seed"
_GRADIENT = "by the output, in a run with NumPy; the loss adds up "
_MEAN_FIELD = "moments of the elements over the draws of parameters and inputs, layer by layer; see docs/signal.md"
_BACK = "from the outputs back through the derivatives of each operation, over the draws; see docs/signal.md"


def explain_signals(program: Program, report: SignalReport) -> tuple[Explanation, ...]:
    """Return the working of the variance and of the gradient of each row of a report, in their order."""
    return tuple(_row(program, report, row) for row in report.rows)


def _row(program: Program, report: SignalReport, row: SignalRow) -> Explanation:
    loss = {"random": "the outputs with random weights", "sum": "the outputs", "loss": "the loss of the spec"}
    sections = [
        Section("variance, measured", tuple(_measured_variance(report, row)), _VARIANCE),
        Section("variance, predicted", tuple(_predicted_variance(row)), _MEAN_FIELD),
        Section(
            "gradient, measured", tuple(_measured_gradient(report, row)), _GRADIENT + loss.get(report.loss, report.loss)
        ),
        Section("gradient, predicted", tuple(_predicted_gradient(row)), _BACK),
    ]
    notes = (f"neglected by the prediction: {row.note}",) if row.note else ()
    return explain_program(program, f"signal of {row.path}", sections, notes=notes)


def _measured_variance(report: SignalReport, row: SignalRow) -> Iterator[WorkingLine]:
    figures = row.measured
    if figures.variance is None:
        return
    if figures.mean is not None:
        yield WorkingLine("mean of the elements", "", "", _text(figures.mean))
    if figures.gain is not None and figures.rms is not None:
        yield WorkingLine("root mean square, relative to that of the input", "", "", _text(figures.gain))
    if figures.spread is not None:
        yield WorkingLine("weights", "inputs of an output·mean square", "", _text(figures.spread))
    yield from _over_seeds(report, "variance, mean", figures.variance, figures.variance_deviation)


def _predicted_variance(row: SignalRow) -> Iterator[WorkingLine]:
    figures = row.predicted
    if figures.variance is None:
        if row.gap:
            yield WorkingLine("not predicted", "", "", row.gap)
        return
    if figures.rms is not None and figures.mean is not None:
        square = figures.variance + figures.mean**2
        if figures.gain:
            before = square / figures.gain**2
            yield WorkingLine("mean square of the first input", "", "", _text(before))
            text = f"{_text(figures.gain)}²·{_text(before)}"
            yield WorkingLine("mean square of the output", "gain²·mean square of the input", text, _text(square))
        else:
            yield WorkingLine("mean square of the output", "", "", _text(square))
        text = f"{_text(square)} - {_text(figures.mean)}²"
        yield WorkingLine("variance", "mean square - mean²", text, _text(figures.variance))
    else:
        yield WorkingLine("variance", "", "", _text(figures.variance))


def _measured_gradient(report: SignalReport, row: SignalRow) -> Iterator[WorkingLine]:
    figures = row.measured
    if figures.gradient is None:
        return
    yield from _passed(figures.back, figures.gradient)
    yield from _over_seeds(report, "norm, root mean square", figures.gradient, figures.gradient_deviation)


def _passed(back: float | None, gradient: float) -> Iterator[WorkingLine]:
    if back is not None:
        text = f"{_text(back)}·{_text(gradient)}"
        yield WorkingLine("norm that it passes to its first input", "back·norm", text, _text(back * gradient))


def _predicted_gradient(row: SignalRow) -> Iterator[WorkingLine]:
    figures = row.predicted
    if figures.gradient is None:
        if row.gradient_gap:
            yield WorkingLine("not predicted", "", "", row.gradient_gap)
        return
    yield from _passed(figures.back, figures.gradient)
    yield WorkingLine("norm", "√E[norm²]", "", _text(figures.gradient))


def _over_seeds(report: SignalReport, name: str, value: float, deviation: float | None) -> Iterator[WorkingLine]:
    """Yield a figure that is measured with each seed, with the deviation over them."""
    seeds = len(report.seeds)
    if seeds > 1 and deviation is not None:
        yield WorkingLine(f"standard deviation over {seeds:,} seeds", "", "", _text(deviation))
    label = f"{name} over {seeds:,} seeds" if seeds > 1 else f"{name.partition(',')[0]}, seed {report.seeds[0]}"
    yield WorkingLine(label, "", "", _text(value))


def _text(value: float) -> str:
    return f"{value:.6g}"
