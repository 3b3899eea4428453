"""Texts about the thing at a place: the working of a line, an attribute, the value of a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from netcalc.analysis.explain import Explanation, explain
from netcalc.diagnostics import NetcalcError, written
from netcalc.language.facts import Facts
from netcalc.language.names import Use
from netcalc.language.pages import (
    attribute_line,
    attributes_of,
    block_page,
    keys_at,
    operation_page,
    operation_reference,
)
from netcalc.language.positions import Position, Range
from netcalc.language.syntax import Role, Spot
from netcalc.language.watching import Seen
from netcalc.opdef import WorkingLine
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE
from netcalc.spec.shipped import catalogue, unaliased


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about a part of a document."""

    markdown: str
    range: Range


def hover(facts: Facts, position: Position) -> Hover | None:
    """Return the text about the thing at a place; None if there is nothing to say."""
    spot, use = facts.spot(position), facts.names.at(*facts.place(position))
    about_use = "" if use is None else "\n".join(_name(facts, use))
    about_spot = "" if spot is None else "\n".join(_spot(facts, spot))
    is_line = use is not None and (use.symbol.kind == "block" or (use.is_definition and use.symbol.kind == "value"))
    if use is not None and about_use and not (is_line and about_spot):
        return Hover(about_use, facts.state.lines.range(use.span))
    return Hover(about_spot, facts.state.lines.range(spot.span)) if spot is not None and about_spot else None


def _name(facts: Facts, use: Use) -> Iterator[str]:
    symbol = use.symbol
    if symbol.kind in ("dim", "var"):
        section = f"{symbol.kind}s"
        value, declared = facts.setting(symbol.name), facts.declared(section, symbol.name)
        shown = "" if value is None else f" = `{value if hasattr(value, 'names') else written(value, quoted=True)}`"
        yield f"{symbol.kind} **{symbol.name}**{shown}"
        about = _about(declared)
        if about:
            yield ""
            yield about
    elif symbol.kind in ("value", "input"):
        type_ = facts.type_of(symbol)
        if type_ is not None:
            yield f"**{symbol.name}**: {type_} {type_.dtype}"
    elif symbol.kind == "argument":
        block = str(symbol.path[1]) if len(symbol.path) > 1 else ""
        found = (item for item in attributes_of(block, facts.grammar) if item.name == symbol.name)
        yield from (f"argument of `{block}`\n\n{attribute_line(item)}" for item in found)


def _about(declared: Any) -> str:
    """Return limits and description of a declaration."""
    if not isinstance(declared, dict):
        return "" if declared is None else f"default `{written(declared, quoted=True)}`"
    parts = [f"{key} `{written(declared[key], quoted=True)}`" for key in declared if key not in ("about", "formerly")]
    return "; ".join([*([str(declared["about"])] if declared.get("about") else []), *parts])


def _spot(facts: Facts, spot: Spot) -> Iterator[str]:
    grammar = facts.grammar
    if spot.is_key:
        parent, key = grammar.role(spot.path[:-1]), str(spot.path[-1])
        if parent.kind == "line" and key not in MODIFIERS:
            yield from _target(facts, key, spot)
        elif parent.kind == "arguments" and not parent.rest:
            yield from _attribute(facts, parent.name, key)
        elif about := keys_at(parent).get(key, ""):
            yield f"**{key}** — {about}"
        return
    role = grammar.role(spot.path)
    value = facts.cursor.at(spot.path).data
    if role.kind == "line" and isinstance(value, str):
        yield from _target(facts, value, spot)
    elif role.kind == "modifier" and role.name == "name":
        yield from _target(facts, "", spot)
    elif role.kind == "argument":
        yield from _attribute(facts, role.owner, role.name)
    elif role == Role("section", "extends") and isinstance(value, str):
        entry = catalogue().get(value) or catalogue().get(unaliased(value) or "")
        if entry is not None:
            yield f"**{entry.name}** — {entry.about}"
            yield ""
            yield f"{entry.params:,} parameters; {entry.source}"


def _attribute(facts: Facts, target: str, name: str) -> Iterator[str]:
    found = next((item for item in attributes_of(target, facts.grammar) if item.name == name), None)
    if found is not None:
        yield attribute_line(found)[2:]


def _target(facts: Facts, target: str, spot: Spot) -> Iterator[str]:
    """Yield the working of a line, or the page of its operation or block if the line has no result."""
    seen = facts.line_at(spot.path)
    if seen is not None and (explanation := explained(facts, seen)) is not None:
        yield from explanation_lines(explanation)
        return
    page = operation_reference(target)
    if page is not None:
        yield from operation_page(page)
    elif target == SEQUENCE:
        yield "**sequence** — a group of lines; its name is part of their paths"
    else:
        yield from block_page(target, facts.grammar)


def explained(facts: Facts, seen: Seen) -> Explanation | None:
    """Return the working of a line; None if it has no result."""
    path, costs = facts.path_from_top(seen), facts.state.costs
    if path is None or costs is None or seen.value is None or seen.value.type is None:
        return None
    try:
        return explain(costs.program, path, costs.convention)
    except NetcalcError:
        return None


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the lines of a working in Markdown."""
    inputs, outputs = (" , ".join(str(v.type) for v in side) for side in (explanation.inputs, explanation.outputs))
    times = f" ×{explanation.repeat:,}" if explanation.repeat > 1 else ""
    yield f"**{explanation.path}**{times}: {explanation.op} — {explanation.about}"
    yield ""
    yield f"{inputs or 'no inputs'} → {outputs}"
    for section in explanation.sections:
        yield ""
        yield f"*{section.title}*" + (f": {section.rule}" if section.rule else "")
        yield from (f"- {step.label}: {_working(step)}" for step in section.steps)
    for note in explanation.notes:
        yield ""
        yield note
    if explanation.source:
        yield ""
        yield f"Source: {explanation.source}"


def _working(step: WorkingLine) -> str:
    value = f"{step.value:,}" if isinstance(step.value, int) and not isinstance(step.value, bool) else str(step.value)
    parts = [part for part in (step.formula, step.substituted, value) if part]
    return " = ".join(part for number, part in enumerate(parts) if number == 0 or part != parts[number - 1])
