"""The working behind the sums over all executions of an operation."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.cost import Analysis
from netcalc.analysis.explain import Explanation, explain_program
from netcalc.analysis.figures import Figure
from netcalc.analysis.matching import COMPARED
from netcalc.analysis.working import Section, number_text
from netcalc.opdef import WorkingLine

#: Title of the section with the number of executions.
EXECUTIONS = "executions"


def explain_operation(analysis: Analysis, operation: str) -> Explanation:
    """Return the working of the executions of an operation, and of the figures of all of them together.

    Each section is a sum over the layers of the operation, less what is excluded.
    """
    title = f"all executions of {operation}"
    sections = [
        Section(EXECUTIONS, tuple(_executions(analysis, operation))),
        *(Section(figure.total or figure.title, tuple(_figure(analysis, operation, figure))) for figure in COMPARED),
    ]
    return explain_program(analysis.program, title, sections, convention=analysis.convention.name)


def _executions(analysis: Analysis, operation: str) -> Iterator[WorkingLine]:
    """Yield the instances of each layer, and their number."""
    total = 0
    for row in analysis.counted_leaves():
        if row.op == operation:
            total += row.repeat
            yield WorkingLine(row.title, "", "", row.repeat)
    yield WorkingLine("sum", "", "", total)


def _figure(analysis: Analysis, operation: str, figure: Figure) -> Iterator[WorkingLine]:
    """Yield a figure of each layer, all instances of it, and the sum; nothing if there is none."""
    counts = [(row, figure.of(row.total)) for row in analysis.counted_leaves() if row.op == operation]
    if all(count == 0 for _, count in counts):
        return
    for row, count in counts:
        if count == 0:
            continue
        times = row.repeat > 1
        working = f"{row.repeat:,}·{number_text(figure.of(row.cost))}" if times else ""
        yield WorkingLine(f"{row.title} ×{row.repeat:,}" if times else row.title, "", working, count)
    _, cost = analysis.by_operation[operation]
    yield WorkingLine("sum", "", "", figure.of(cost))
