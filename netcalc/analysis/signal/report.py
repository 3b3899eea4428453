"""Results of ``netcalc signal``: measured and predicted signals by operation, and findings in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

from netcalc.analysis.signal.propagate import PredictedOperation
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.results import Entry, Real, Result, recorded

F = TypeVar("F", bound="Figures")


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of the first output of a layer; null where one does not apply or is not known."""

    mean: Real | None = None
    variance: Real | None = None
    channel_square: Real | None = None
    """Mean of the squared means of channels."""
    channel_variance: Real | None = None
    """Mean of the variances of channels."""
    saturated: Real | None = None
    """Share of elements at which an activation function has less than a tenth of its greatest slope."""
    dead: Real | None = None
    """Share of units of a rectifier that are zero for all data."""
    gain: Real | None = None
    """Root mean square of the output relative to that of the first input."""
    gradient: Real | None = None
    """Norm of the gradient of the output."""
    back: Real | None = None
    """Norm of the gradient passed to the first input relative to that of the output."""
    parameters: Mapping[str, Real] = field(default_factory=dict)
    """Norms of the gradients of parameters, by name; under an empty name that of all parameters of a group."""

    @property
    def relative_gradient(self) -> float | None:
        """Root mean square times norm of the gradient, which does not depend on the scale of the tensor."""
        if self.rms is None or self.gradient is None:
            return None
        return 0.0 if self.gradient == 0 else self.rms * self.gradient

    @property
    def rms(self) -> float | None:
        """The root mean square of the elements."""
        if self.mean is None or self.variance is None:
            return None
        return math.sqrt(self.variance + self.mean**2) if math.isfinite(self.variance) else self.variance


@dataclass(frozen=True, slots=True)
class MeasuredFigures(Figures):
    """Figures as measured, means over seeds."""

    variance_deviation: Real | None = None
    """Standard deviation of the variance over seeds."""
    gradient_deviation: Real | None = None
    """Standard deviation of the norm of the gradient over seeds."""
    spread: Real | None = None
    """Number of inputs of an output times the mean square of the weights, of linear layers and convolutions."""
    symmetric: bool = False
    """True if all rows of the weights are equal, and all rows of their gradients too."""


@recorded("path", "op", "shape", "weighted", "measured", "predicted", "gap", "gradient_gap", "note")
@dataclass(frozen=True, slots=True)
class SignalRow:
    """An operation or a group of operations."""

    path: str
    op: str
    """The operation, of a group the last one."""
    shape: tuple[int, ...]
    measured: MeasuredFigures
    predicted: Figures
    weighted: bool = False
    """True for products with weights, and for groups that have one."""
    gap: str = ""
    """Reason why signals are not predicted, or empty."""
    gradient_gap: str = ""
    """Reason why gradients are not predicted, or empty."""
    note: str = ""
    """Effects that the prediction neglects, or empty."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The largest rise or fall of a figure within a stage."""

    begins: str
    """Path of the line where it begins."""
    ends: str
    """Path of the line where it ends."""
    first: int
    """Number of the line where it begins, from 1."""
    last: int
    """Number of the line where it ends."""
    start: Real
    """The figure where it begins."""
    stop: Real
    """The figure where it ends."""
    factor: Real
    """The figure where it ends, relative to where it begins."""
    by_line: Real
    """The factor by line, on average."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A figure along the lines of a stage, in order of execution."""

    first: Real
    last: Real
    smallest: Real
    largest: Real
    by_line: Real
    """The factor by line from the first to the last, on average."""
    growths: tuple[Growth, ...]
    """Rises and falls by a factor of at least 10."""


@recorded("path", "op", "lines", "activations", "gradients")
@dataclass(frozen=True, slots=True)
class Stage:
    """A run of lines of equal structure along one path through the network."""

    path: str
    """Path of the lines, with * for numbers."""
    op: str
    lines: tuple[str, ...]
    """Paths of the operations that are compared, in order of execution."""
    activations: Trend
    """Root mean squares of the outputs."""
    gradients: Trend | None
    """Root mean squares of the outputs times norms of their gradients; null where results of lines have other uses."""


@recorded(*("path", "op", "steps", "states", "gradients", "by_step", "predicted", "tenth", "thousandth", "millionth"))
@dataclass(frozen=True, slots=True)
class Reach:
    """Gradients of the outputs of the last step by distance, from one seed."""

    path: str
    op: str
    steps: int
    states: tuple[Real, ...]
    """Root mean squares of the output of the operation, by step."""
    gradients: tuple[Real, ...]
    """Norms of the gradient of the last step's outputs by what the operation has at each step, by distance from 0.

    For recurrent layers it is the gradient by their input, for others that by their output.
    """
    by_step: Real | None
    """The factor of the norm by step, on average to where it ends or falls by 10¹²."""
    predicted: Real | None
    """The factor that follows from the weights of a recurrent layer; null where there is no theory."""

    def within(self, factor: float) -> int | None:
        """Return the distance from which the norm stays below that of the last step divided by a factor, if it does."""
        if not any(self.gradients):
            return None
        last = max((d for d, norm in enumerate(self.gradients) if norm > self.gradients[0] / factor), default=-1)
        return last + 1 if last + 1 < len(self.gradients) else None

    @property
    def tenth(self) -> int | None:
        """The number of steps within which the gradient falls by 10."""
        return self.within(10)

    @property
    def thousandth(self) -> int | None:
        """The number of steps within which the gradient falls by 10³."""
        return self.within(1e3)

    @property
    def millionth(self) -> int | None:
        """The number of steps within which the gradient falls by 10⁶."""
        return self.within(1e6)


@recorded("name", "rms", "mean")
@dataclass(frozen=True, slots=True)
class InputScale:
    """Measured scale of a floating-point input; ``position`` is its place among the inputs of the program."""

    name: str
    position: int
    rms: Real
    mean: Real


@dataclass(frozen=True, slots=True)
class Finding:
    """A remark on the signals of a network."""

    kind: str
    path: str
    """Layer where it begins."""
    text: str
    why: str
    help: str


@recorded(
    *("spec", "inits", "seeds", "training", "loss", Entry("no_gradients", "gradients"), "findings"),
    *("inputs", "stages", "through_time"),
    Entry("layers", "rows"),
    name="signal",
)
@dataclass(frozen=True, slots=True)
class SignalReport(Result):
    """Signals of a network at initialization."""

    spec: str
    """Name of the spec."""
    inits: tuple[str, ...]
    """Initializers of the options."""
    seeds: tuple[int, ...]
    """Seeds that the measured figures are means over."""
    training: bool
    loss: str
    data: int
    rows: tuple[SignalRow, ...]
    """Operations in order of execution, or groups of them."""
    findings: tuple[Finding, ...] = ()
    gradients: str = ""
    """Reason why there are no gradients, or empty."""
    inputs: tuple[InputScale, ...] = ()
    """Scales of the floating-point inputs."""
    stages: tuple[Stage, ...] = ()
    """Runs of equal lines, in order of execution."""
    through_time: tuple[Reach, ...] = ()
    """Gradients of the last step's outputs by distance, of recurrent layers and decoders."""

    def at_depth(self, depth: int | None) -> SignalReport:
        """Return the report with groups of operations that share the first ``depth`` parts of their paths."""
        return self if depth is None else replace(self, rows=tuple(at_depth(self.rows, depth)))

    @property
    def layers(self) -> tuple[SignalRow, ...]:
        """The rows with weights."""
        return tuple(row for row in self.rows if row.weighted)

    @property
    def gaps(self) -> tuple[str, ...]:
        """The reasons why predictions are missing, each once."""
        return tuple(dict.fromkeys(gap for row in self.rows for gap in (row.gap, row.gradient_gap) if gap))

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """Remarks on predictions, each with the first path that it concerns."""
        paths: dict[str, str] = {}
        for row in self.rows:
            if row.note:
                paths.setdefault(row.note, row.path)
        return tuple((path, note) for note, path in paths.items())


@recorded("names", "reports", name="signal-comparison")
@dataclass(frozen=True, slots=True)
class SignalComparison(Result):
    """Signals of several networks, or of one with different initializers, side by side."""

    reports: tuple[SignalReport, ...]
    titles: tuple[str, ...] = ()
    """Titles of the networks; empty where initializers are compared."""
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Titles of the reports: names of the specs, or the last initializers, in which they differ."""
        return self.titles or tuple(report.inits[-1] if report.inits else "default" for report in self.reports)


def predicted_row(row: PredictedOperation) -> Figures:
    """Return the figures that are predicted for an operation.

    A mean over n data that are independent has the variance of an element divided by n, which is part of the squared
    means of channels.
    """
    signal, before = row.signal, row.before
    channel_square = channel_variance = None
    if signal.square is not None and signal.shared is not None:
        rest = max(signal.square - signal.shared, 0.0) / max(row.data, 1)
        channel_square, channel_variance = signal.shared + rest, rest * (row.data - 1)
    gain = None
    if before is not None and before.square and signal.square is not None:
        gain = math.sqrt(signal.square / before.square)
    return Figures(
        mean=_mean_without_noise(signal.mean, signal.square),
        variance=signal.variance,
        channel_square=channel_square,
        channel_variance=channel_variance,
        saturated=row.saturated,
        gradient=None if row.gradient is None else math.sqrt(row.gradient),
        gain=gain,
        back=None if row.back is None else math.sqrt(row.back),
        parameters={name: math.sqrt(square) for name, square in row.parameters.items() if square is not None},
    )


def _mean_without_noise(mean: float | None, square: float | None) -> float | None:
    """Return a mean without what quadrature leaves of a mean of 0."""
    if mean is None or square is None:
        return None
    return 0.0 if mean**2 < 1e-24 * square else mean


def at_depth(rows: Iterable[SignalRow], depth: int) -> Iterable[SignalRow]:
    """Yield a row for each run of operations below one path of ``depth`` parts: the row of the last of them.

    Shares are the largest of the run; norms of the gradients of parameters are over all of them together.  The gain is
    the gain of the whole run: the product of the root mean squares between its first input and its last output.
    """
    if depth < 1:
        raise NetcalcError(Diagnostic("E502", f"a depth should be at least 1, not {depth}"))
    for path, run in groupby(rows, lambda row: ".".join(row.path.split(".")[:depth])):
        yield _group(list(run), path)


def _group(run: Sequence[SignalRow], path: str) -> SignalRow:
    first, last = run[0], run[-1]
    if len(run) == 1:
        return replace(last, path=path)
    return replace(
        last,
        path=path,
        weighted=any(row.weighted for row in run),
        measured=_figures_of_run(first.measured, last.measured, [row.measured for row in run]),
        predicted=_figures_of_run(first.predicted, last.predicted, [row.predicted for row in run]),
        gap=last.gap,
        gradient_gap=last.gradient_gap,
        note=next((row.note for row in run if row.note), ""),
    )


def _figures_of_run(first: F, last: F, run: Sequence[Figures]) -> F:
    """Return the figures of a run of operations."""
    gain = back = None
    if first.rms and first.gain and last.rms is not None:
        gain = last.rms / (first.rms / first.gain)
    if first.gradient is not None and first.back is not None and last.gradient:
        back = first.gradient * first.back / last.gradient
    squares = [norm**2 for figures in run for norm in figures.parameters.values()]

    def largest(shares: Iterable[float | None]) -> float | None:
        return max((share for share in shares if share is not None), default=None)

    return replace(
        last,
        gain=gain,
        back=back,
        saturated=largest(figures.saturated for figures in run),
        dead=largest(figures.dead for figures in run),
        parameters={"": math.sqrt(sum(squares))} if squares else {},
    )
