"""Pages of verifications: checks of an execution, and the audit of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, clipped
from netcalc.render.checkpoints import packed_table
from netcalc.render.numbers import bytes_text, measured
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, Selection, keys_of
from netcalc.render.table import Column, Row, Table
from netcalc.verification.report import Check, VerifyReport
from netcalc.weights.report import Inventory, Mismatch, MismatchGroup, WeightsReport, grouped

#: Groups of mismatches that a page shows unless more are asked for.
_MAX_GROUPS = 40
#: Rows of a page for tensors that the spec does not have.
_EXTRA = 20
#: Characters of a prefix in a table; a file may hold names of any length.
_NAME = 200


class _Weights(Presentation[WeightsReport]):
    selected_list = listed = "mismatches"
    columns = keys_of("name", "kind")
    names = staticmethod(attrgetter("name", "kind"))

    def selected(self, result: WeightsReport, view: View) -> Selected[Any]:
        """Return the mismatches that the selection leaves; for a page, groups of those that match its patterns."""
        if view.in_full:
            return super().selected(result, view)
        selection = view.selection
        matching = Selection(patterns=selection.patterns).apply(result.mismatches, self.columns, self.names).shown
        ranking = Selection(selection.sort, selection.top or _MAX_GROUPS)
        return ranking.apply(grouped(matching), self.columns, self.names)

    def page(self, result: WeightsReport, rows: Selected[MismatchGroup], view: View) -> Page:
        return _weights_page(result, rows.shown)

    def recorded(self, result: WeightsReport, rows: Selected[Any]) -> Mapping[str, Any]:
        return {"mismatches": rows.shown, "groups": grouped(rows.shown)}

    def data(self, result: WeightsReport, rows: Selected[Mismatch], view: View) -> Table:
        """Tensors that do not match, one by one, with the reason and a hint."""
        columns = [Column("kind"), Column("tensor", "path", key="name")]
        columns += [Column("reason", "prose", key="message"), Column("hint", "prose")]
        return Table(columns, [Row([m.kind, m.name, m.message, m.hint]) for m in rows.shown])


class _Verification(Presentation[VerifyReport]):
    selected_list = listed = "checks"
    columns = keys_of("path", "op", "what", "predicted", "executed", "times", "ok")

    def selected(self, result: VerifyReport, view: View) -> Selected[Check]:
        """Return the checks that the selection leaves; for a page, the failures among them."""
        if view.in_full:
            return super().selected(result, view)
        matching = super().selected(result, view._replace(selection=view.selection._replace(top=None))).shown
        return Selected([check for check in matching if not check.ok][: view.selection.top])

    def page(self, result: VerifyReport, rows: Selected[Check], view: View) -> Page:
        if result.audit is not None:
            unsorted = view._replace(selection=view.selection._replace(sort=None))
            yield from _WEIGHTS.page(result.audit, _WEIGHTS.selected(result.audit, unsorted), unsorted)
        yield from _verification_page(result, rows.shown)

    def data(self, result: VerifyReport, rows: Selected[Check], view: View) -> Table:
        """Checks with all fields, for CSV."""
        if result.audit is not None:
            message = "--format csv writes one table; leave out --execute, or --weights"
            raise NetcalcError(Diagnostic("E502", message))
        cells = ([read(check) for read in self.columns.values()] for check in rows.shown)
        return Table([Column(field) for field in self.columns], [Row(check) for check in cells])


_WEIGHTS = _Weights()
PRESENTATIONS = {"VerifyReport": _Verification(), "WeightsReport": _WEIGHTS}


#: What each group of checks predicts.
_CHECKED = {
    "outputs": "shape and type of every output",
    "parameters": "shape and type of every parameter and buffer",
    "work": "operations by kind, as counted by the kernels",
    "totals": "elements of all parameters and of all buffers",
    "plan": "outputs of a planned run, as by the kernels but for rounding",
    "decoding": "outputs of a prefill and single steps with caches, as of one pass",
    "receptive fields": "positions of every layer that NaNs in a part of the input reach",
    "backward": "work of every product, tensors saved for it, gradients",
    "initial values": "moments and distribution of every drawn parameter, as PyTorch's",
    "conventions": "MACs and FLOPs under every convention, by its tool's formulas",
    "memory": "bytes of every kernel and at every step, as of tensors that are made and released",
    "gradients": "gradients of every distinct operation and of the network, as by differences",
}
#: Groups that a page shows without checks too.
_ALWAYS = ("outputs", "parameters", "work", "totals", "plan")


def _verification_page(report: VerifyReport, failures: Sequence[Check]) -> Page:
    """The number of checks of each kind, and those ``failures`` that are to be shown."""
    counts = report.counts
    drawn = "" if report.audit is not None else "; no weights were checked"
    yield Paragraph([Line(f": {report.operations:,} operations executed, each checked on its own{drawn}", report.spec)])
    checked = {group: text for group, text in _CHECKED.items() if group in _ALWAYS or group in counts}
    if report.unseen:
        checked["values"] = "values of every distinct operation, as by its definition"
    columns = [Column("checked"), Column("checks", "total"), Column("prediction", "prose")]
    yield Table(columns, [Row([name, counts[name], text]) for name, text in checked.items()])
    for title, compared in {"compared by value": report.values, "gradients compared": report.gradients}.items():
        if compared:
            names = ("operations", "values", "different")
            columns = [Column(title, key="op"), *(Column(name, "total") for name in names)]
            yield Table(columns, [Row(list(count)) for count in compared])
    if report.unseen:
        yield Paragraph([Line("Not seen by these checks:"), *(Line(f"- {fault}") for fault in report.unseen)])
    if report.gaps:
        yield Paragraph([Line(f"not checked: {gap.what}: {gap.reason}") for gap in report.gaps])
    total = sum(counts.values())
    if report.ok:
        yield Answer([Paragraph([Line("", f"all {total:,} predictions are correct", "good")])])
    else:
        yield _checks_table(failures)._replace(omitted=len(report.failures) - len(failures))
        wrong = sum(check.times for check in report.failures)
        yield Answer([Paragraph([Line("", f"{wrong:,} of {total:,} predictions were wrong", "bad")])])


def _checks_table(checks: Sequence[Check]) -> Table:
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


def _weights_page(report: WeightsReport, groups: Sequence[MismatchGroup]) -> Page:
    """The figures of a checkpoint, and those ``groups`` of mismatches that are to be shown."""
    head = f"{report.file}: {report.tensors:,} tensors; {report.spec} has {report.parameters:,} parameters and buffers"
    notes = [f"{report.initial:,} absent, computed or initialized by netcalc"] if report.initial else []
    notes += [f"{report.ignored:,} tensors ignored"] if report.ignored else []
    notes += [f"{report.values:,} values with types that the file declares"] if report.values else []
    inventory = report.inventory
    notes += [] if inventory is None else [_content(inventory)]
    yield Paragraph([Line(head), *(Line(note) for note in notes)])
    if inventory is not None and inventory.packed:
        yield packed_table(inventory.packed)
    if inventory is not None and inventory.extra:
        columns = [Column("not in the spec", "path"), Column("tensors", "total"), Column("parameters", "count")]
        columns += [Column("bytes", "bytes"), Column("")]
        rows = [
            Row([clipped(e.prefix, _NAME), e.tensors, e.params, e.bytes, "ignored" if e.ignored else None], e.groups)
            for e in inventory.extra[:_EXTRA]
        ]
        yield Table(columns, rows, omitted=len(inventory.extra) - len(rows))
    if report.ok:
        yield Answer([Paragraph([Line("", "every name, shape and type fits", "good")])])
    else:
        columns = [Column("kind"), Column("tensors", "path", key="name")]
        columns += [Column("reason", "prose", key="message"), Column("hint", "prose")]
        rows = [Row([g.kind, g.label, g.message, g.hint]) for g in groups]
        yield Table(columns, rows, omitted=len(report.groups) - len(groups))
        yield Answer([Paragraph([Line("", f"{len(report.mismatches):,} do not fit", "bad")])])


def _content(inventory: Inventory) -> str:
    """Figures of a checkpoint in words: parameters, stored elements if they differ, types, and files."""
    types = ", ".join(f"{kind.dtype} ×{kind.tensors:,}" for kind in inventory.types)
    stored = f" in {inventory.elements:,} stored elements" if inventory.packed else ""
    files = f" in {inventory.files:,} files" if inventory.files > 1 else ""
    bits = "" if inventory.bits is None else f", {inventory.bits:.4g} bits each"
    return f"{measured(inventory.params)} parameters{stored}; {bytes_text(inventory.bytes)}{bits}{files}: {types}"
