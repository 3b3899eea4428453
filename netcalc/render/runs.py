"""Results of forward passes and of verifications: pages and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import clipped
from netcalc.render.checkpoints import packed_table
from netcalc.render.joined import joined_rows
from netcalc.render.numbers import bytes_text, measured
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.profile import profile_page
from netcalc.render.table import ALWAYS, Column, Row, Table

if TYPE_CHECKING:
    from netcalc.engine.profile import LayerTime
    from netcalc.engine.run import RunResult
    from netcalc.numerics.trace import TraceRow
    from netcalc.verification.report import Check, VerifyReport
    from netcalc.weights.report import Inventory, Mismatch, MismatchGroup, WeightsReport

__all__ = [
    "checks_data",
    "checks_table",
    "mismatches_table",
    "run_page",
    "statistics_table",
    "verification_page",
    "weights_page",
]

#: Largest number of elements of an output that is printed.
_FEW = 64
#: Rows of a page for tensors that the spec does not have.
_EXTRA = 20
#: Characters of a prefix in a table; a file may hold names of any length.
_NAME = 200
#: Width to which numbers are wrapped in a file or a pipe.
_WIDTH = 100

#: Statistics with the priorities of their columns.
_STATISTICS = {"mean": ALWAYS, "std": 50, "min": 40, "max": 40}


def run_page(
    result: RunResult,
    outputs: Sequence[TraceRow],
    origin: Sequence[str],
    width: int | None,
    layers: Sequence[LayerTime],
    omitted: int = 0,
) -> Page:
    """Page of a run: statistics of traced tensors and outputs, numbers of small outputs, memory or profile.

    ``origin`` are lines on inputs and weights.  ``layers`` are the layers of the profile to show; ``omitted`` is the
    number of traced tensors left out.
    """
    yield Paragraph([Line(text) for text in origin])
    if result.trace:
        yield statistics_table("trace", result.trace)._replace(omitted=omitted)
    yield statistics_table("output", list(joined_rows(outputs)))
    for name, array in result.outputs.items():
        if array.size <= _FEW:
            numbers = _numbers(array, width or _WIDTH)
            yield Paragraph([Line(f"{name} ="), *map(Line, numbers.split("\n"))], verbatim=True)
    if result.profile is not None:
        yield from profile_page(result.profile, layers)
    else:
        yield Paragraph([Line("", _memory(result), "dim")])


def statistics_table(title: str, rows: Sequence[TraceRow]) -> Table:
    """Tensors with the mean, standard deviation, minimum and maximum of their elements."""
    columns = [
        Column(title, "path", key="path"),
        Column("operation", priority=30, key="op"),
        Column("shape", "shape"),
        Column("type", priority=20, key="dtype"),
        *(Column(name, "real", priority) for name, priority in _STATISTICS.items()),
    ]
    return Table(
        columns,
        [Row([r.path, r.op, r.shape, r.dtype, *(getattr(r, name) for name in _STATISTICS)]) for r in rows],
    )


def verification_page(report: VerifyReport, spec: str, failures: Sequence[Check]) -> Page:
    """Page of a verification: the number of checks of each kind, and those ``failures`` that are to be shown."""
    counts = report.counts
    yield Paragraph([Line(f": {report.operations:,} operations executed, each checked on its own", spec)])
    checked = {
        "outputs": "shape and type of every output",
        "parameters": "shape and type of every parameter and buffer",
        "work": "operations by kind, as counted by the kernels",
        "totals": "elements of all parameters and of all buffers",
        "plan": "outputs of a planned run, as by the kernels but for rounding",
    }
    if "decoding" in counts:
        checked["decoding"] = "outputs of a prefill and single steps with caches, as of one pass"
    if "receptive fields" in counts:
        checked["receptive fields"] = "positions of every layer that NaNs in a part of the input reach"
    if "backward" in counts:
        checked["backward"] = "work of every product, tensors saved for it, gradients"
    if report.unseen:
        checked["values"] = "values of every distinct operation, as by its definition"
    columns = [Column("checked"), Column("checks", "total"), Column("prediction", "prose")]
    yield Table(columns, [Row([name, counts[name], text]) for name, text in checked.items()])
    if report.values:
        columns = [
            Column("compared by value", key="op"),
            *(Column(name, "total") for name in ("operations", "values", "different")),
        ]
        yield Table(columns, [Row(list(count)) for count in report.values])
    if report.unseen:
        yield Paragraph([Line("Not seen by these checks:"), *(Line(f"- {fault}") for fault in report.unseen)])
    if report.gaps:
        yield Paragraph([Line(f"not checked: {gap.what}: {gap.reason}") for gap in report.gaps])
    total = sum(counts.values())
    if report.ok:
        yield Paragraph([Line("", f"all {total:,} predictions are correct", "good")])
    else:
        yield checks_table(failures)._replace(omitted=len(report.failures) - len(failures))
        wrong = sum(check.times for check in report.failures)
        yield Paragraph([Line("", f"{wrong:,} of {total:,} predictions were wrong", "bad")])


def checks_table(checks: Sequence[Check]) -> Table:
    """Table of checks with the predicted and the executed value."""
    columns = [
        Column("layer", "path", key="path"),
        Column("operation", priority=20, key="op"),
        Column("what"),
        Column("predicted", "prose"),
        Column("executed", "prose"),
    ]
    rows = [Row([c.path or "(whole)", c.op, c.what, c.predicted, c.executed], c.times) for c in checks]
    return Table(columns, rows)


def checks_data(checks: Sequence[Check]) -> Table:
    """Checks with all fields, for CSV."""
    fields = ("path", "op", "what", "predicted", "executed", "times", "ok")
    return Table([Column(field) for field in fields], [Row([getattr(c, field) for field in fields]) for c in checks])


def weights_page(report: WeightsReport, spec: str, groups: Sequence[MismatchGroup], omitted: int = 0) -> Page:
    """Page of the audit of a checkpoint's header, with those ``groups`` of mismatches that are to be shown.

    ``omitted`` is the number of groups left out.
    """
    head = f"{report.file}: {report.tensors:,} tensors; {spec} has {report.parameters:,} parameters and buffers"
    notes = [f"{report.initial:,} absent, computed or initialised by netcalc"] if report.initial else []
    notes += [f"{report.ignored:,} tensors ignored"] if report.ignored else []
    found = report.inventory
    notes += [] if found is None else [_content(found)]
    yield Paragraph([Line(head), *(Line(note) for note in notes)])
    if found is not None and found.packed:
        yield packed_table(found.packed)
    if found is not None and found.extra:
        columns = [Column("not in the spec", "path"), Column("tensors", "total"), Column("parameters", "count")]
        columns += [Column("bytes", "bytes"), Column("")]
        rows = [
            Row([clipped(e.prefix, _NAME), e.tensors, e.params, e.bytes, "ignored" if e.ignored else None], e.groups)
            for e in found.extra[:_EXTRA]
        ]
        yield Table(columns, rows, omitted=len(found.extra) - len(rows))
    if report.ok:
        yield Paragraph([Line("", "every name, shape and type fits", "good")])
    else:
        columns = [Column("kind"), Column("tensors", "path", key="name")]
        columns += [Column("reason", "prose", key="message"), Column("hint", "prose")]
        rows = [Row([g.kind, g.label, g.message, g.hint]) for g in groups]
        yield Table(columns, rows, omitted=omitted)
        yield Paragraph([Line("", f"{len(report.mismatches):,} do not fit", "bad")])


def _content(found: Inventory) -> str:
    """Figures of a checkpoint in words: parameters, stored elements if they differ, types, and files."""
    types = ", ".join(f"{kind.dtype} ×{kind.tensors:,}" for kind in found.types)
    stored = f" in {found.elements:,} stored elements" if found.packed else ""
    files = f" in {found.files:,} files" if found.files > 1 else ""
    bits = "" if found.bits is None else f", {found.bits:.4g} bits each"
    return f"{measured(found.params)} parameters{stored}; {bytes_text(found.bytes)}{bits}{files}: {types}"


def mismatches_table(mismatches: Sequence[Mismatch]) -> Table:
    """Tensors that do not match, one by one, with the reason and a hint."""
    columns = [Column("kind"), Column("tensor", "path", key="name")]
    columns += [Column("reason", "prose", key="message"), Column("hint", "prose")]
    return Table(columns, [Row([m.kind, m.name, m.message, m.hint]) for m in mismatches])


def _memory(result: RunResult) -> str:
    """Predicted memory in words; the reference path holds the weights of one operation at a time."""
    memory = result.memory
    part = f", including {bytes_text(memory.weights)} of weights" if result.plan == "fast" and memory.weights else ""
    return f"predicted peak memory: {bytes_text(memory.peak)}{part}"


def _numbers(array: Any, width: int) -> str:
    import numpy as np

    return str(np.array2string(array, precision=4, suppress_small=True, max_line_width=width, separator=", "))
