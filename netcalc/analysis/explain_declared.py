"""The working of declared work, which no rule computes, with words for what is not known of it."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.conventions import Convention
from netcalc.analysis.rows import Row
from netcalc.analysis.working import Section, counted_steps
from netcalc.opdef import Declared, WorkingLine


def declared_steps(work: Declared) -> Iterator[WorkingLine]:
    """Yield a step for each declared figure, or one that says that the work is not known."""
    if work.macs is None and work.flops is None:
        yield WorkingLine("work", "", "", "not known")
    if work.macs is not None:
        yield WorkingLine("multiply-adds", "", "", work.macs)
    if work.flops is not None:
        yield WorkingLine("FLOPs, 2 for each multiply-add", "", "", work.flops)


def declared_sections(convention: Convention, row: Row, work: Declared, rule: str) -> Iterator[Section]:
    """Yield the sections of declared work: as it is declared, and as a convention counts it by its ``rule``."""
    yield Section("work", tuple(declared_steps(work)), work.source or "as declared")
    gap = convention.declared(work).gap
    unknown = {"": (), "MACs": ("MACs",), "work": ("MACs", "FLOPs")}[gap]
    steps = counted_steps(convention, row.repeat, (row.cost.macs, row.cost.flops), ())
    counted = (step for step in steps if gap != "work" or step.label in unknown)
    lines = (WorkingLine(step.label, "", "", "not known") if step.label in unknown else step for step in counted)
    yield Section("counted", tuple(lines), rule)
