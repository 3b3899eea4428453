"""Checks of specs: they load, their shapes fit, their requirements hold, and their published figures are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.analysis.budget import BudgetRow
from netcalc.analysis.conventions import Convention
from netcalc.analysis.cost import analyze
from netcalc.analysis.published import PublishedCounts
from netcalc.diagnostics import Diagnostic, Span
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.results import Result, recorded
from netcalc.spec.library import Loaded


class Place(NamedTuple):
    """A place in a file, counted from 1; ``end`` is the column behind the last."""

    file: str
    line: int
    column: int
    end: int


class CheckRow(NamedTuple):
    """A check of a spec."""

    spec: str
    """Name or path of the spec."""
    check: str
    """shapes, requirement, convention, warning, error, or published, quoted or budget with the name of the figure."""
    expected: str
    """The figure as it is published, the requirement, the limit, or the code of the warning or error."""
    counted: int | None
    """The figure as it is counted; null for other checks and quoted results."""
    ok: bool
    detail: str
    """Source and note of a published figure, or the message of a warning or error."""
    place: Place | None
    """Place of what is checked in its file; null for a whole file, and for what is in none."""


@recorded("ok", "rows", name="check")
@dataclass(frozen=True, slots=True)
class CheckReport(Result):
    """Checks of several specs at their default sizes."""

    rows: tuple[CheckRow, ...]
    #: Errors of the specs that cannot be loaded.
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def ok(self) -> bool:
        """True if all checks pass."""
        return all(row.ok for row in self.rows)


def checked_spec(spec: str, loaded: Loaded, program: Program) -> Iterable[CheckRow]:
    """Yield the checks of a spec that could be loaded.

    A published figure passes if the counted one rounds to it, or differs and has a note with the reason; a note on a
    figure that does not differ is out of date.  A quoted result is listed, and has nothing to fail.  Work is counted
    without biases, norms and activations, as papers do it.
    """
    total, document = analyze(program, "torch").total, loaded.document
    counts = PublishedCounts(loaded, program)
    yield CheckRow(spec, "shapes", "", integer(total.params), True, "parameters", None)
    for note in program.origin_notes:
        yield CheckRow(spec, "origin", "", None, True, note, None)
    for number, required in enumerate(document.require):
        place = _place(loaded, "require", number)
        yield CheckRow(spec, "requirement", str(required.that), None, True, required.message, place)
    for number, published in enumerate(document.published):
        kind = "quoted" if published.quoted else "published"
        counted = counts.of(published)
        ok = counted is None or published.stands(counted)
        reason = f"miscounted: {published.miscounted}" if published.miscounted else published.note
        detail = f"{published.where}: {reason}" if reason else published.where
        if reason and not ok:
            detail += " (the figure agrees: the note is out of date)"
        place = _place(loaded, "published", number)
        yield CheckRow(spec, f"{kind} {published.figure}", str(published.value), counted, ok, detail, place)


def limited_spec(spec: str, loaded: Loaded, rows: Iterable[BudgetRow]) -> Iterable[CheckRow]:
    """Yield the limits of the budget of a spec."""
    for row in rows:
        detail = "" if row.ok else f"exceeds the budget by {row.excess:,}"
        place = _place(loaded, "budget", row.figure)
        yield CheckRow(spec, f"budget {row.figure}", f"at most {row.limit:,}", row.counted, row.ok, detail, place)


def failed_spec(spec: str, problems: Iterable[Diagnostic]) -> Iterable[CheckRow]:
    """Yield the errors of a spec that cannot be loaded."""
    for problem in problems:
        yield CheckRow(spec, "error", problem.code, None, False, problem.message, _place_of(problem.span))


def warned_spec(spec: str, warnings: Iterable[Diagnostic]) -> Iterable[CheckRow]:
    """Yield the warnings about a spec: names that nothing uses, former names."""
    for warning in warnings:
        yield CheckRow(spec, "warning", warning.code, None, False, warning.message, _place_of(warning.span))


def checked_convention(spec: str, convention: Convention) -> CheckRow:
    """Return the check of a file of a counting convention that could be read."""
    return CheckRow(spec, "convention", "", None, True, convention.about, None)


def _place(loaded: Loaded, key: str, entry: int | str) -> Place | None:
    return _place_of(loaded.cursor[key][entry].span)


def _place_of(span: Span | None) -> Place | None:
    return Place(span.file, span.line, span.column, max(span.end, span.column)) if span and span.line else None
