"""Checks of specs: they load, their shapes fit, their requirements hold, and their published figures are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.analysis.budget import BudgetRow
from netcalc.analysis.cost import analyze
from netcalc.diagnostics import Diagnostic
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.results import Result, recorded
from netcalc.spec.document import Document


class CheckRow(NamedTuple):
    """A check of a spec."""

    spec: str
    """Name or path of the spec."""
    check: str
    """shapes, requirement, error, or published, quoted or budget with the name of the figure."""
    expected: str
    """The figure as it is published, the requirement, the limit, or the code of the error."""
    counted: int | None
    """The figure as it is counted; null for other checks and quoted results."""
    ok: bool
    detail: str
    """Place and note of a published figure, or the message of an error."""


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


def checked_spec(spec: str, document: Document, program: Program) -> Iterable[CheckRow]:
    """Yield the checks of a spec that could be loaded.

    A published figure passes if the counted one rounds to it, or differs and has a note with the reason; a note on a
    figure that does not differ is out of date.  A quoted result is listed, and has nothing to fail.  Work is counted
    without biases, norms and activations, as papers do it.
    """
    total = analyze(program, "torch").total
    yield CheckRow(spec, "shapes", "", integer(total.params), True, "parameters")
    for note in program.origin_notes:
        yield CheckRow(spec, "origin", "", None, True, note)
    for required in document.require:
        yield CheckRow(spec, "requirement", str(required.that), None, True, required.message)
    for published in document.published:
        kind = "quoted" if published.quoted else "published"
        counted = None if published.quoted else integer(getattr(total, published.figure))
        ok = counted is None or published.stands(counted)
        reason = f"miscounted: {published.miscounted}" if published.miscounted else published.note
        detail = f"{published.where}: {reason}" if reason else published.where
        if reason and not ok:
            detail += " (the figure agrees: the note is out of date)"
        yield CheckRow(spec, f"{kind} {published.figure}", str(published.value), counted, ok, detail)


def limited_spec(spec: str, rows: Iterable[BudgetRow]) -> Iterable[CheckRow]:
    """Yield the limits of the budget of a spec."""
    for row in rows:
        detail = "" if row.ok else f"exceeds the budget by {row.excess:,}"
        yield CheckRow(spec, f"budget {row.figure}", f"at most {row.limit:,}", row.counted, row.ok, detail)


def failed_spec(spec: str, problems: Iterable[Diagnostic]) -> Iterable[CheckRow]:
    """Yield the errors of a spec that cannot be loaded."""
    for problem in problems:
        yield CheckRow(spec, "error", problem.code, None, False, problem.message)
