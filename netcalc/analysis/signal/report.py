"""Results of ``netcalc signal``: measured and predicted signals by operation, and findings in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from netcalc.analysis.signal.propagate import PredictedOperation
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.results import Result

__all__ = ["Figures", "Finding", "SignalComparison", "SignalReport", "SignalRow", "at_depth", "predicted_row"]


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one operation's first output; None where one does not apply or is not known.

    ``mean`` and ``variance`` are those of all elements; ``channel_square`` is the mean of the squared means of
    channels, and ``channel_variance`` the mean of their variances.  ``saturated`` is the share of elements at which an
    activation function has less than a tenth of its greatest slope, ``dead`` the share of units of a rectifier that are
    zero for all data.  ``gradient`` is the norm of the gradient of the output, and ``parameters`` those of the
    parameters by name.  ``gain`` is the root mean square of the output relative to that of the first input, ``back``
    the norm of the gradient that the operation passes to its first input relative to that of its outputs.
    """

    mean: float | None = None
    variance: float | None = None
    channel_square: float | None = None
    channel_variance: float | None = None
    saturated: float | None = None
    dead: float | None = None
    gradient: float | None = None
    gain: float | None = None
    back: float | None = None
    parameters: Mapping[str, float] | None = None
    variance_deviation: float | None = None
    gradient_deviation: float | None = None

    @property
    def rms(self) -> float | None:
        """The root mean square of the elements."""
        if self.mean is None or self.variance is None:
            return None
        return math.sqrt(self.variance + self.mean**2) if math.isfinite(self.variance) else self.variance


@dataclass(frozen=True, slots=True)
class SignalRow:
    """An operation or a group of operations: its last operation ``op``, what was measured and what was predicted.

    ``weighted`` is true for products with weights and for groups that have one.  ``gap`` and ``gradient_gap`` say why a
    prediction is missing, ``note`` what it neglects.
    """

    path: str
    op: str
    shape: tuple[int, ...]
    measured: Figures
    predicted: Figures
    weighted: bool = False
    gap: str = ""
    gradient_gap: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A remark on the signals of a network: the layer where it begins, the reason, and what would help."""

    kind: str
    path: str
    text: str
    why: str
    help: str


@dataclass(frozen=True, slots=True)
class SignalReport(Result):
    """Signals of a network at initialisation, by operation in order of execution.

    ``inits`` are the initialisers of the option, ``seeds`` those that figures are means over, ``gradients`` the reason
    why there are none, or an empty text.
    """

    spec: str
    inits: tuple[str, ...]
    seeds: tuple[int, ...]
    training: bool
    loss: str
    data: int
    rows: tuple[SignalRow, ...]
    findings: tuple[Finding, ...] = ()
    gradients: str = ""

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
        found: dict[str, str] = {}
        for row in self.rows:
            if row.note:
                found.setdefault(row.note, row.path)
        return tuple((path, note) for note, path in found.items())


@dataclass(frozen=True, slots=True)
class SignalComparison(Result):
    """Reports on one network with different initialisers."""

    reports: tuple[SignalReport, ...]


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
        mean=_rounded(signal.mean, signal.square),
        variance=signal.variance,
        channel_square=channel_square,
        channel_variance=channel_variance,
        saturated=row.saturated,
        gradient=None if row.gradient is None else math.sqrt(row.gradient),
        gain=gain,
        back=None if row.back is None else math.sqrt(row.back),
        parameters={name: math.sqrt(square) for name, square in row.parameters.items() if square is not None},
    )


def _rounded(mean: float | None, square: float | None) -> float | None:
    """Return a mean without what quadrature leaves of a mean of 0."""
    if mean is None or square is None:
        return None
    return 0.0 if mean**2 < 1e-24 * square else mean


def at_depth(rows: Iterable[SignalRow], depth: int) -> Iterable[SignalRow]:
    """Yield a row for each run of operations below one path of ``depth`` parts: that of the last one.

    Shares are the largest of the run, norms of the gradients of parameters those of all together.  The gain is that of
    the whole run: the product of the root mean squares between its first input and its last output.
    """
    if depth < 1:
        raise NetcalcError(Diagnostic("E502", f"a depth should be at least 1, not {depth}"))
    run: list[SignalRow] = []
    path = ""
    for row in rows:
        head = ".".join(row.path.split(".")[:depth])
        if run and head != path:
            yield _group(run, path)
            run = []
        path = head
        run.append(row)
    if run:
        yield _group(run, path)


def _group(run: Sequence[SignalRow], path: str) -> SignalRow:
    first, last = run[0], run[-1]
    if len(run) == 1:
        return replace(last, path=path)
    return replace(
        last,
        path=path,
        weighted=any(row.weighted for row in run),
        measured=_joined(first.measured, last.measured, [row.measured for row in run]),
        predicted=_joined(first.predicted, last.predicted, [row.predicted for row in run]),
        gap=last.gap,
        gradient_gap=last.gradient_gap,
        note=next((row.note for row in run if row.note), ""),
    )


def _joined(first: Figures, last: Figures, run: Sequence[Figures]) -> Figures:
    """Return the figures of a run of operations."""
    gain = back = None
    if first.rms and first.gain and last.rms is not None:
        gain = last.rms / (first.rms / first.gain)
    if first.gradient is not None and first.back is not None and last.gradient:
        back = first.gradient * first.back / last.gradient
    squares = [norm**2 for figures in run for norm in (figures.parameters or {}).values()]

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
