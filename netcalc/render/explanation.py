"""Explanation of a layer or a network: a page of steps, and its JSON record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from netcalc.analysis.explain import Explanation
from netcalc.analysis.summary import sizes
from netcalc.dims import Dim, Poly
from netcalc.ir import Value
from netcalc.opdef import WorkingLine
from netcalc.render.numbers import exact, repeated, shapes_text
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table
from netcalc.version import __version__

__all__ = ["explanation_page", "explanation_record", "explanation_table"]


def explanation_page(explanation: Explanation, spec: str) -> Page:
    """Title, shapes and attributes, then a table of steps for each section."""
    yield Paragraph(list(_head(explanation, spec)))
    for section in explanation.sections:
        rows = [Row([step.label, _working(step)]) for step in section.steps]
        columns = [Column("step", "path"), Column("working", "prose")]
        yield Table(columns, rows, title=section.title, about=section.rule, header=False)


def explanation_table(explanation: Explanation) -> Table:
    """The steps of all sections, formula and result in columns of their own."""
    columns = [Column(title) for title in ("section", "step", "formula", "substituted")]
    rows = [
        Row([section.title, step.label, step.formula, step.substituted, _value(step.value, str)])
        for section in explanation.sections
        for step in section.steps
    ]
    return Table([*columns, Column("value")], rows)


def explanation_record(explanation: Explanation, spec: str) -> dict[str, Any]:
    """The explanation as JSON."""
    return {
        "netcalc": __version__,
        "spec": spec,
        "convention": explanation.convention,
        "path": explanation.path,
        "op": explanation.op,
        "about": explanation.about,
        "source": explanation.source,
        "inputs": _shapes(explanation.inputs),
        "outputs": _shapes(explanation.outputs),
        "repeat": explanation.repeat,
        "attributes": dict(explanation.attributes),
        "sections": [
            {"title": section.title, "rule": section.rule, "steps": [_step_record(step) for step in section.steps]}
            for section in explanation.sections
        ],
    }


def _step_record(step: WorkingLine) -> dict[str, Any]:
    value = step.value
    plain = value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
    return {"label": step.label, "formula": step.formula, "substituted": step.substituted, "value": plain}


def _shapes(values: Iterable[Value]) -> list[list[int | str]]:
    return [sizes(value.known_type.shape) for value in values]


def _head(explanation: Explanation, spec: str) -> Iterator[Line]:
    yield Line(f": {explanation.op}", repeated(explanation.path or spec, explanation.repeat))
    if explanation.about:
        yield Line(explanation.about)
    inputs, outputs = (shapes_text(v.type for v in side) for side in (explanation.inputs, explanation.outputs))
    yield Line(f"{inputs or 'no inputs'} → {outputs}")
    if explanation.attributes:
        attributes = ", ".join(f"{key}={value}" for key, value in explanation.attributes.items())
        yield Line("", attributes, "dim")
    if explanation.source:
        yield Line("", f"source: {explanation.source}", "dim", hanging="  ")


def _working(step: WorkingLine) -> str:
    """Formula, substitution and result; a formula of one number is its own substitution and result."""
    parts = [part for part in (step.formula, step.substituted, _value(step.value, exact)) if part]
    return " = ".join(part for i, part in enumerate(parts) if i == 0 or part != parts[i - 1])


def _value(value: Any, number: Callable[[Dim], str]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, Poly)):
        return number(value)
    return "×".join(map(str, value)) if isinstance(value, tuple) else str(value)
