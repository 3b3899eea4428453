"""Explanation of a layer or a network: a page of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from netcalc.analysis.explain import Explanation
from netcalc.dims import Dim, Poly
from netcalc.opdef import WorkingLine, attribute_text
from netcalc.render.numbers import exact, repeated, shape_text, shapes_text
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.signature import element_type
from netcalc.render.table import Column, Row, Table

#: Most characters of a substitution that is shown.
_LONGEST = 160
#: The same of a working in numbers.
_LONGEST_NUMBERS = 400


class _Explanation(Presentation[Explanation]):
    selected_list = listed = ""

    def page(self, result: Explanation, rows: Selected[Any], view: View) -> Page:
        """Title, shapes and attributes, then a table of steps for each section."""
        yield Paragraph(list(_head(result)))
        for section in result.sections:
            steps = [Row([step.label, _working(step)]) for step in section.steps]
            columns = [Column("step", "path"), Column("working", "prose")]
            yield Table(columns, steps, title=section.title, about=section.rule, header=False)

    def data(self, result: Explanation, rows: Selected[Any], view: View) -> Table:
        """The steps of all sections, formula and result in columns of their own."""
        columns = [Column(title) for title in ("section", "step", "formula", "substituted", "value")]
        steps = [
            Row([section.title, step.label, step.formula, step.substituted, _value(step.value, str)])
            for section in result.sections
            for step in section.steps
        ]
        return Table(columns, steps)


PRESENTATIONS = {"Explanation": _Explanation()}


def _head(explanation: Explanation) -> Iterator[Line]:
    yield Line(f": {explanation.op}", repeated(explanation.path or explanation.spec, explanation.repeat))
    if explanation.about:
        yield Line(explanation.about)
    inputs, outputs = (shapes_text(v.type for v in side) for side in (explanation.inputs, explanation.outputs))
    yield Line(f"{inputs or 'no inputs'} → {outputs}")
    yield from element_type(
        explanation.dtype, explanation.checkpoint_dtype, explanation.stored_as, explanation.weight_bytes
    )
    if explanation.attributes:
        attributes = ", ".join(f"{key}={attribute_text(value)}" for key, value in explanation.attributes.items())
        yield Line("", attributes, "dim")
    yield from map(Line, explanation.notes)
    if explanation.source:
        yield Line("", f"source: {explanation.source}", "dim", hanging="  ")


def _working(step: WorkingLine) -> str:
    """Formula, substitution and result; a formula of one number is its own substitution and result.

    A substitution of long symbolic sizes is left out.
    """
    longest = _LONGEST_NUMBERS if isinstance(step.value, float) else _LONGEST
    substituted = step.substituted if len(step.substituted) <= longest else ""
    parts = [part for part in (step.formula, substituted, _value(step.value, exact)) if part]
    return " = ".join(part for i, part in enumerate(parts) if i == 0 or part != parts[i - 1])


def _value(value: Any, number: Callable[[Dim], str]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, Poly)):
        return number(value)
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−") if number is exact else str(value)
    if isinstance(value, tuple):
        return shape_text(value) if number is exact and value else "×".join(map(str, value))
    return str(value)
