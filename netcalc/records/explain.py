"""Record of ``explain``: the working of a layer, a block or a network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict

from netcalc.analysis.explain import Explanation
from netcalc.ir import Value
from netcalc.opdef import WorkingLine
from netcalc.records import schema_id
from netcalc.records.values import Shape, attribute, plain, shapes
from netcalc.version import __version__

__all__ = ["ExplanationRecord", "explanation_record"]


class StepRecord(TypedDict):
    """A line of working: a formula, the formula with numbers substituted, and its value."""

    label: str
    formula: str
    substituted: str
    value: bool | int | float | str | None


class SectionRecord(TypedDict):
    """The steps of one figure."""

    title: str
    rule: str
    """The rule that the steps follow."""
    steps: list[StepRecord]


class ExplanationRecord(TypedDict):
    """The working behind the figures of a layer, a block or a network."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    convention: str
    """Counting convention of the work."""
    path: str
    """Path of the layer or block; empty for the whole network."""
    op: str
    about: str
    source: str
    """Source of the rules, or of the network."""
    inputs: list[Shape]
    outputs: list[Shape]
    repeat: int
    """Number of instances."""
    attributes: dict[str, Any]
    """Values as in a spec; an operation is its name, or a mapping from its name to the attributes that are set."""
    sections: list[SectionRecord]


def explanation_record(explanation: Explanation) -> ExplanationRecord:
    """Return the record of an explanation."""
    return {
        "schema": schema_id("explain"),
        "netcalc": __version__,
        "spec": explanation.spec,
        "convention": explanation.convention,
        "path": explanation.path,
        "op": explanation.op,
        "about": explanation.about,
        "source": explanation.source,
        "inputs": _shapes(explanation.inputs),
        "outputs": _shapes(explanation.outputs),
        "repeat": explanation.repeat,
        "attributes": {name: attribute(value) for name, value in explanation.attributes.items()},
        "sections": [
            {"title": section.title, "rule": section.rule, "steps": [_step(step) for step in section.steps]}
            for section in explanation.sections
        ],
    }


def _step(step: WorkingLine) -> StepRecord:
    value = plain(step.value)
    simple = value if isinstance(value, (bool, int, float, str)) or value is None else str(step.value)
    return {"label": step.label, "formula": step.formula, "substituted": step.substituted, "value": simple}


def _shapes(values: Iterable[Value]) -> list[Shape]:
    return shapes(value.known_type for value in values)
