"""Results of backward passes: the loss, and the norms of gradients by layer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from netcalc.engine.gradient_steps import InputSteps
from netcalc.engine.gradients import GradientResult
from netcalc.engine.layer_gradients import LayerGradient
from netcalc.render.numbers import bytes_text
from netcalc.render.origin import origin_lines
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.steps import distances
from netcalc.render.table import Column, Row, Table
from netcalc.render.values import values

#: Names of outputs and parameters that a line lists.
_LISTED = 4


class _Gradients(Presentation[GradientResult]):
    listed = ""
    columns = keys_of("path", "op", "instances", "elements", "norm", "least", "greatest", "absmax")

    def page(self, result: GradientResult, rows: Selected[LayerGradient], view: View) -> Page:
        loss = f"loss {result.loss:.6g}, {_loss_text(result)}"
        yield Paragraph([*map(Line, origin_lines(result)), Line("", loss, "bold")])
        elements = sum(gradient.size for gradient in result.parameters.values())
        total = Row(["all parameters", "", 0, elements, result.norm, None, None, None])
        totals = [total] if result.parameters else ()
        yield _table(rows.shown)._replace(totals=totals, omitted=len(rows.others))
        chosen = {row.path for row in rows.shown} if rows.others else None
        whole = [*result.given.items(), *result.outputs.items()]
        yield from values(whole, _gradients(result, chosen), "gradients", view.width)
        for steps in result.steps:
            yield Paragraph([Line(": gradient by step", steps.name)])
            yield _by_step(steps)
        lines = [Line("", f"saved for the backward pass: {bytes_text(result.saved_bytes)}", "dim")]
        if result.unreached:
            some = ", ".join(result.unreached[:_LISTED]) + (", …" if len(result.unreached) > _LISTED else "")
            lines.append(Line(f"no gradient, as the loss does not depend on them: {some}"))
        yield Paragraph(lines)

    def data(self, result: GradientResult, rows: Selected[LayerGradient], view: View) -> Table:
        return _table(rows.shown, complete=True)


PRESENTATIONS = {"GradientResult": _Gradients()}


def _gradients(result: GradientResult, chosen: Collection[str] | None) -> Iterator[tuple[str, Any]]:
    """Yield gradients by name: all of them, or those of chosen rows."""
    for name, array in (*result.inputs.items(), *result.parameters.items()):
        if chosen is None or name in chosen or name.rpartition(".")[0] in chosen:
            yield f"gradient of {name}", array


def _table(rows: Sequence[LayerGradient], *, complete: bool = False) -> Table:
    """Layers with the norms of their gradients; ``complete`` also for the gradients of a row that has one instance."""
    columns = [
        Column("gradient", "path", key="path"),
        Column("operation", priority=30, key="op"),
        Column("layers", "count", priority=45, key="instances"),
        Column("elements", "count", priority=40),
        Column("norm", "real"),
        Column("least", "real", priority=50),
        Column("greatest", "real", priority=50),
        Column("max |g|", "real", priority=20, key="absmax"),
    ]
    return Table(columns, [Row(list(row) if complete else _cells(row)) for row in rows])


def _by_step(steps: InputSteps) -> Table:
    """Norms of the gradient of an input, from the last step back."""
    count = len(steps.norms)
    cells = ([number, steps.norms[number - 1]] for number in (count - d for d in distances(count)))
    return Table([Column("step", "total"), Column("norm", "real")], [Row(row) for row in cells])


def _loss_text(result: GradientResult) -> str:
    """Return in words which loss it is."""
    if result.summed == ("loss",):
        return "that of the spec"
    names = ", ".join(result.summed[:_LISTED]) + (", …" if len(result.summed) > _LISTED else "")
    return f"the {'weighted ' if result.weighted else ''}sum of {names}"


def _cells(row: LayerGradient) -> list[object]:
    several = row.instances > 1
    spread = [row.least, row.greatest] if several else [None, None]
    return [row.path, row.op, row.instances if several else 0, row.elements, row.norm, *spread, row.absmax]
