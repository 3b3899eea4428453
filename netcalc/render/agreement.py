"""Page of the comparison of a network with the PyTorch module that it was made of."""

from __future__ import annotations

from typing import Any

from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table
from netcalc.verification.agreement import Agreement


class _Agreement(Presentation[Agreement]):
    selected_list = listed = ""

    def page(self, result: Agreement, rows: Selected[Any], view: View) -> Page:
        yield Paragraph([Line(": compared with the module, on the same random weights", result.spec)])
        if result.outputs:
            columns = [Column("output", key="name"), Column("plan"), Column("largest difference"), Column("allowed")]
            outputs = [
                Row([output.name, output.plan, _relative(output.difference), _relative(output.tolerance)])
                for output in result.outputs
            ]
            yield Table(columns, outputs)
        if result.flops:
            columns = [
                Column("FLOPs", key="kind"),
                Column("netcalc", "total"),
                Column("torch", "total"),
                Column("counted by torch for", "prose", key="operators"),
            ]
            yield Table(columns, [Row([f.kind, f.netcalc, f.torch, ", ".join(f.operators)]) for f in result.flops])
        weights = result.weights
        lines = [
            Line(f"state dict: {weights.tensors:,} tensors; {weights.parameters:,} parameters and buffers of the spec")
        ]
        if result.drawn:
            calls = ", ".join(f"{operator} ({count:,})" for operator, count in result.drawn)
            lines.append(Line(f"random numbers: both sides drew the same, in calls of {calls}"))
        lines += [Line(problem.message) for problem in weights.diagnostics]
        yield Paragraph(lines)
        wrong = len(result.differing) + len(weights.mismatches)
        if result.ok:
            yield Paragraph([Line("", "outputs, FLOPs and parameters agree", "good")])
        else:
            yield Paragraph([Line("", f"{wrong:,} of these differ", "bad")])


PRESENTATIONS = {"Agreement": _Agreement()}


def _relative(value: float) -> str:
    return "different" if value == float("inf") else f"{value:.1g}"
