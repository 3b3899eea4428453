"""Record of ``signal``: measured and predicted signals by layer, and findings."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypedDict

from netcalc.analysis.signal.report import Figures, SignalComparison, SignalReport, SignalRow
from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.version import __version__

__all__ = ["SignalComparisonRecord", "SignalRecord", "signal_comparison_record", "signal_record"]


class SignalFiguresRecord(TypedDict):
    """Figures of the first output of a layer; null where one does not apply or is not known."""

    mean: float | str | None
    variance: float | str | None
    channel_square: float | str | None
    """Mean of the squared means of channels."""
    channel_variance: float | str | None
    """Mean of the variances of channels."""
    saturated: float | str | None
    """Share of elements at which an activation function has less than a tenth of its greatest slope."""
    dead: float | str | None
    """Share of units of a rectifier that are zero for all data."""
    gain: float | str | None
    """Root mean square of the output relative to that of the first input."""
    gradient: float | str | None
    """Norm of the gradient of the output."""
    back: float | str | None
    """Norm of the gradient passed to the first input relative to that of the output."""
    parameters: dict[str, float | str]
    """Norms of the gradients of parameters, by name; under an empty name that of all parameters of a group."""


class SignalMeasuredRecord(SignalFiguresRecord):
    """Figures as measured, means over seeds."""

    variance_deviation: float | str | None
    """Standard deviation of the variance over seeds."""
    gradient_deviation: float | str | None
    """Standard deviation of the norm of the gradient over seeds."""


class SignalLayerRecord(TypedDict):
    """An operation or a group of operations."""

    path: str
    op: str
    shape: list[int]
    weighted: bool
    """True for products with weights, and for groups that have one."""
    measured: SignalMeasuredRecord
    predicted: SignalFiguresRecord
    gap: str
    """Reason why signals are not predicted, or empty."""
    gradient_gap: str
    """Reason why gradients are not predicted, or empty."""
    note: str
    """What the prediction neglects, or empty."""


class FindingRecord(TypedDict):
    """A remark on the signals of a network."""

    kind: str
    path: str
    """Layer where it begins."""
    text: str
    why: str
    help: str


class SignalRecord(TypedDict):
    """Signals of a network at initialisation."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    inits: list[str]
    """Initialisers of the options."""
    seeds: list[int]
    """Seeds that the measured figures are means over."""
    training: bool
    loss: str
    no_gradients: str
    """Reason why there are no gradients, or empty."""
    findings: list[FindingRecord]
    layers: list[SignalLayerRecord]


class SignalComparisonRecord(TypedDict):
    """Signals of one network with different initialisers."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    reports: list[SignalRecord]


def signal_record(report: SignalReport, rows: Iterable[SignalRow] | None = None) -> SignalRecord:
    """Return the record of a report; ``rows`` are the rows to include, by default all."""
    return {
        "schema": schema_id("signal"),
        "netcalc": __version__,
        "spec": report.spec,
        "inits": list(report.inits),
        "seeds": list(report.seeds),
        "training": report.training,
        "loss": report.loss,
        "no_gradients": report.gradients,
        "findings": [
            {"kind": f.kind, "path": f.path, "text": f.text, "why": f.why, "help": f.help} for f in report.findings
        ],
        "layers": [_layer(row) for row in (report.rows if rows is None else rows)],
    }


def signal_comparison_record(comparison: SignalComparison) -> SignalComparisonRecord:
    """Return the record of a comparison of initialisers."""
    return {
        "schema": schema_id("signal-comparison"),
        "netcalc": __version__,
        "reports": [signal_record(report) for report in comparison.reports],
    }


def _layer(row: SignalRow) -> SignalLayerRecord:
    return {
        "path": row.path,
        "op": row.op,
        "shape": list(row.shape),
        "weighted": row.weighted,
        "measured": {
            **_figures(row.measured),
            "variance_deviation": _number(row.measured.variance_deviation),
            "gradient_deviation": _number(row.measured.gradient_deviation),
        },
        "predicted": _figures(row.predicted),
        "gap": row.gap,
        "gradient_gap": row.gradient_gap,
        "note": row.note,
    }


def _figures(figures: Figures) -> SignalFiguresRecord:
    return {
        "mean": _number(figures.mean),
        "variance": _number(figures.variance),
        "channel_square": _number(figures.channel_square),
        "channel_variance": _number(figures.channel_variance),
        "saturated": _number(figures.saturated),
        "dead": _number(figures.dead),
        "gain": _number(figures.gain),
        "gradient": _number(figures.gradient),
        "back": _number(figures.back),
        "parameters": {name: plain(norm) for name, norm in (figures.parameters or {}).items()},
    }


def _number(value: float | None) -> float | str | None:
    found: float | str | None = None if value is None else plain(value)
    return found
