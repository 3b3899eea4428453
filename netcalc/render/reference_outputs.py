"""Page of the comparison of a network with another library that executes the same file."""

from __future__ import annotations

from typing import Any

from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table
from netcalc.verification.reference_outputs import ReferenceOutput, ReferenceReport


class _Reference(Presentation[ReferenceReport]):
    selected_list = listed = ""

    def page(self, result: ReferenceReport, rows: Selected[Any], view: View) -> Page:
        library = f"{result.reference} {result.version}" if result.version else result.reference
        yield Paragraph([Line(f": compared with {library}, on the same inputs of seed {result.seed}", result.spec)])
        if result.outputs:
            columns = [
                Column("output", key="name"),
                Column("type", key="dtype"),
                Column("shape"),
                Column("largest difference", key="absolute"),
                Column("relative", key="relative"),
                Column("allowed", key="tolerance"),
            ]
            yield Table(columns, [_row(output) for output in result.outputs])
        audit = result.audit
        lines = [Line(f"file: {audit.tensors:,} tensors; {audit.parameters:,} parameters and buffers of the spec")]
        lines += [Line(problem.message) for problem in audit.diagnostics]
        yield Paragraph(lines)
        wrong = len(audit.mismatches) + sum(not output.ok for output in result.outputs)
        if result.ok:
            yield Paragraph([Line("", "outputs agree", "good")])
        else:
            yield Paragraph([Line("", f"{wrong:,} of these differ", "bad")])


PRESENTATIONS = {"ReferenceReport": _Reference()}


def _row(output: ReferenceOutput) -> Row:
    shape = "×".join(map(str, output.shape)) or "scalar"
    if output.absolute is None:
        return Row([output.name, output.dtype, shape, "different", "different", f"{output.tolerance:.1g}"])
    numbers = (f"{value:.1g}" for value in (output.absolute, output.relative, output.tolerance))
    return Row([output.name, output.dtype, shape, *numbers])
