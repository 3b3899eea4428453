"""Entries under ``checkpoint`` that match no parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from netcalc.diagnostics import Diagnostic, did_you_mean
from netcalc.ir import Body, CheckpointEntry, OpNode, PatternWork, captures_of, join, parameter_at, size_of
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.line_syntax import MODIFIERS

#: Paths of parameters that are candidates for a suggestion.
_KNOWN = 5000


def unmatched_entries(elaboration: Elaboration, main: Body) -> Iterator[Diagnostic]:
    """Yield the error (E109) of each entry in the spec's own file that matches no parameter.

    An entry of a block must match in one of its calls, whatever the arguments of the others.  Inherited, imported and
    shipped entries are not checked, nor blocks that are not called, nor entries that name a line with ``when``, whose
    condition may hold with other settings.
    """
    loaded = elaboration.loaded
    data = loaded.cursor.data
    conditional = _conditional_names([data.get("layers"), data.get("blocks")], False)
    yield from _unmatched_entries(loaded.cursor, loaded.label, [main], "the spec", conditional)
    for name, block in loaded.blocks.items():
        bodies = [body for key, body in elaboration.bodies.items() if key[0] is block.cursor]
        if bodies and block.home is loaded:
            yield from _unmatched_entries(block.cursor, loaded.label, bodies, f"the block {name!r}", conditional)


def _unmatched_entries(
    cursor: Cursor, label: str, bodies: Sequence[Body], owner: str, conditional: set[str]
) -> Iterator[Diagnostic]:
    declared = cursor["checkpoint"].items() if cursor.data.get("checkpoint") else ()
    work = PatternWork()
    paths: list[str] | None = None
    places = {path: place for path, place in declared if place.key_span is None or place.key_span.file == label}
    for entry in bodies[0].checkpoint.entries:
        names_condition = any(f".{name}." in f".{entry.path}." for name in conditional)
        if entry.path not in places or names_condition or (conditional and captures_of(entry.path) != (frozenset(), 0)):
            continue
        if not any(parameter_at(body.nodes, entry.path) or _matches_path(entry, body, work) for body in bodies):
            paths = paths or list(islice((path for body in bodies for path in _paths(body, set())), _KNOWN))
            message = f"checkpoint: no parameter of {owner} matches {entry.path!r}"
            yield Diagnostic("E109", message, places[entry.path].key_span, hint=did_you_mean(entry.path, paths))


def _matches_path(entry: CheckpointEntry, body: Body, work: PatternWork) -> bool:
    """Return True if an entry matches a path in a body."""
    size = size_of([entry.path])
    for path in _paths(body, {1, 2, *map(int, re.findall(r"\d+", entry.path))}):
        work.add(path, size)
        if entry.matches(path):
            return True
    return False


def _paths(body: Body, numbers: set[int]) -> Iterator[str]:
    """Yield paths of parameters in the first and last iteration of each repeat, and in iterations of these numbers."""
    for node in body.nodes:
        if isinstance(node, OpNode):
            yield from (join(node.name, param.name) for param in node.params)
            continue
        start = node.start or 0
        indices = {0, *({node.times - 1} if numbers else ()), *(number - start for number in numbers)}
        for index in sorted(index for index in indices if 0 <= index < (1 if node.start is None else node.times)):
            yield from (join(node.instance(index), path) for path in _paths(node.body, numbers))


def _conditional_names(data: Any, is_conditional: bool) -> set[str]:
    """Return the names of the lines with ``when``, of those inside them, and of what these lines apply."""
    if isinstance(data, list):
        return set().union(*(_conditional_names(item, is_conditional) for item in data))
    if not isinstance(data, dict):
        return {data} if is_conditional and isinstance(data, str) else set()
    is_conditional = is_conditional or "when" in data
    names = {str(data["name"])} if "name" in data else set(data) - MODIFIERS.keys()
    inside = set().union(*(_conditional_names(value, is_conditional) for key, value in data.items() if key != "when"))
    return inside | (names if is_conditional else set())
