"""The working of a layer as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from netcalc.analysis.explain import Explanation, Section
from netcalc.analysis.summary import sizes
from netcalc.dims import Poly
from netcalc.ir import Value
from netcalc.opdef import WorkingLine
from netcalc.render.numbers import exact, shapes_text
from netcalc.render.text import PLAIN, Look, clean, padded, width_of
from netcalc.version import __version__

__all__ = ["explanation_record", "render_explanation"]


def render_explanation(explanation: Explanation, spec: str, look: Look = PLAIN) -> str:
    """Title, shapes and attributes, then each section with its steps below one another."""
    return "\n\n".join(["\n".join(_head(explanation, spec, look)), *(_section(s, look) for s in explanation.sections)])


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


def _head(explanation: Explanation, spec: str, look: Look) -> Iterator[str]:
    times = f" ×{explanation.repeat:,}" if explanation.repeat > 1 else ""
    yield look(clean(explanation.path or spec) + times, "bold") + f": {explanation.op}"
    if explanation.about:
        yield clean(explanation.about)
    inputs, outputs = (shapes_text(v.type for v in side) for side in (explanation.inputs, explanation.outputs))
    yield f"{inputs or 'no inputs'} → {outputs}"
    if explanation.attributes:
        yield look(", ".join(f"{key}={value}" for key, value in explanation.attributes.items()), "dim")
    if explanation.source:
        yield look(f"source: {clean(explanation.source)}", "dim")


def _section(section: Section, look: Look) -> str:
    rule = look(f"  {section.rule}", "dim") if section.rule else ""
    labels = max((width_of(clean(step.label)) for step in section.steps), default=0)
    lines = [look(section.title, "bold") + rule]
    for step in section.steps:
        parts = [part for part in (step.formula, step.substituted, _value(step.value)) if part]
        # a formula of one number is its own substitution and result
        parts = [part for i, part in enumerate(parts) if i == 0 or part != parts[i - 1]]
        lines.append(f"  {padded(clean(step.label), labels)}  {' = '.join(parts)}")
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, Poly)):
        return exact(value)
    return "×".join(map(str, value)) if isinstance(value, tuple) else str(value)
