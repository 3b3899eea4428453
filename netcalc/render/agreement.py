"""Page of the comparison of a network with the PyTorch module that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table

if TYPE_CHECKING:
    from netcalc.verification.agreement import Agreement

__all__ = ["agreement_page"]


def agreement_page(report: Agreement) -> Page:
    """Page of an agreement: outputs, FLOPs, and the audit of the state dict."""
    yield Paragraph([Line(": compared with the module, on the same random weights", report.spec)])
    if report.outputs:
        columns = [Column("output", key="name"), Column("plan"), Column("largest difference"), Column("allowed")]
        rows = [
            Row([output.name, output.plan, _relative(output.difference), _relative(output.tolerance)])
            for output in report.outputs
        ]
        yield Table(columns, rows)
    if report.flops:
        columns = [
            Column("FLOPs", key="kind"),
            Column("netcalc", "total"),
            Column("torch", "total"),
            Column("counted by torch for", "prose", key="operators"),
        ]
        yield Table(columns, [Row([f.kind, f.netcalc, f.torch, ", ".join(f.operators)]) for f in report.flops])
    weights = report.weights
    lines = [
        Line(f"state dict: {weights.tensors:,} tensors; {weights.parameters:,} parameters and buffers of the spec")
    ]
    lines += [Line(problem.message) for problem in weights.diagnostics]
    yield Paragraph(lines)
    wrong = len(report.differing) + len(weights.mismatches)
    if report.ok:
        yield Paragraph([Line("", "outputs, FLOPs and parameters agree", "good")])
    else:
        yield Paragraph([Line("", f"{wrong:,} of these differ", "bad")])


def _relative(value: float) -> str:
    return "different" if value == float("inf") else f"{value:.1g}"
