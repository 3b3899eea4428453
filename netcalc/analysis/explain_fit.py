"""The working behind an answer of ``netcalc fit``: budget, margin, and the edges of batch and length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netcalc.analysis.explain import Explanation, explain_program
from netcalc.analysis.fit.report import FitReport, Memory, Need
from netcalc.analysis.working import Section, number_text
from netcalc.ir import Program
from netcalc.opdef import WorkingLine

#: Rule of what is left.
_SHORT = "what is left below 0 is missing"


class Near(NamedTuple):
    """Memory on both sides of an edge."""

    what: str
    """Name of what grows: batch or length."""
    edge: int
    next: int
    last: Need | None
    """Memory at the edge; None if not one fits."""
    beyond: Need | None
    """Memory at the next number; None if that is refused for another reason."""
    reason: str = ""
    """That reason."""


def explain_fit(program: Program, report: FitReport, memory: Memory, edges: Sequence[Near]) -> Explanation:
    """Return the working of an answer for a device."""
    need = Section("memory of the workload", tuple(_need(report.need)), _workload(report))
    sections = [
        Section("budget", tuple(_budget(memory))),
        need,
        Section("margin", tuple(_margin(memory, report.need)), _SHORT),
    ]
    sections += (Section(f"largest {near.what}", tuple(_edge(memory, near)), _SHORT) for near in edges)
    return explain_program(program, "fit", sections, notes=report.assumptions)


def _workload(report: FitReport) -> str:
    sizes = report.workload
    named = {"phase": sizes.phase, "batch": sizes.batch, "length": sizes.length}
    split = [] if report.split is None else [f"the fullest device of {report.split.options}"]
    return ", ".join([*split, *(f"{name} {value}" for name, value in named.items() if value is not None)])


def _budget(memory: Memory) -> Iterator[WorkingLine]:
    text = f"{number_text(memory.bytes)} - {number_text(memory.reserve)}"
    yield WorkingLine(f"of one {memory.title}", "memory - reserve", text, memory.budget)
    if memory.flash is not None:
        yield WorkingLine("flash, which holds the weights", "", "", memory.flash)


def _need(need: Need) -> Iterator[WorkingLine]:
    for part in need.parts:
        yield WorkingLine(part.name, "", "", part.bytes)
    yield WorkingLine("sum", " + ".join(part.name for part in need.parts), _sum_text(need), need.total)


def _margin(memory: Memory, need: Need) -> Iterator[WorkingLine]:
    left = memory.left_by(need)
    if memory.flash is None:
        yield WorkingLine("left", "budget - sum", _left_text(memory, need), left)
    else:
        weights = number_text(need.of("weights"))
        others = number_text(need.total - need.of("weights"))
        text = f"min({number_text(memory.flash)} - {weights}, {number_text(memory.budget)} - {others})"
        yield WorkingLine("left", "min(flash - weights, budget - all others)", text, left)


def _edge(memory: Memory, near: Near) -> Iterator[WorkingLine]:
    """Yield the memory at an edge and beyond it, what each further one takes, and the sides of the budget."""
    if near.last is not None and near.beyond is not None:
        more, by = near.beyond.total - near.last.total, near.next - near.edge
        text = f"({number_text(near.beyond.total)} - {number_text(near.last.total)})/{by}"
        each = more // by if more % by == 0 else f"{more / by:.8g}"
        yield WorkingLine(f"bytes of one more of {near.what}", "(bytes beyond - bytes at the edge)/numbers", text, each)
    if near.last is not None:
        left = memory.left_by(near.last)
        yield WorkingLine(f"{near.what} {near.edge:,}: bytes", "", _sum_text(near.last), near.last.total)
        yield WorkingLine(f"{near.what} {near.edge:,}: left", "", _left_text(memory, near.last), left)
    if near.beyond is not None:
        left = memory.left_by(near.beyond)
        yield WorkingLine(f"{near.what} {near.next:,}: bytes", "", _sum_text(near.beyond), near.beyond.total)
        yield WorkingLine(f"{near.what} {near.next:,}: left", "", _left_text(memory, near.beyond), left)
    elif near.reason:
        yield WorkingLine(f"{near.what} {near.next:,}", "", "", near.reason)


def _sum_text(need: Need) -> str:
    return " + ".join(number_text(part.bytes) for part in need.parts)


def _left_text(memory: Memory, need: Need) -> str:
    if memory.flash is not None:
        return ""
    return f"{number_text(memory.budget)} - {number_text(need.total)}"
