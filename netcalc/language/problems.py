"""Diagnostics of a text as an editor shows them: with ranges, and the changes that their hints propose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias

from netcalc.diagnostics import Diagnostic, Related, Span
from netcalc.language.hint_edits import hinted_edits
from netcalc.language.positions import Edit, Lines, Position, Range

#: Keys with names of files.
_FILES = re.compile(r"[\"']?((?:extends|import)[\"']?\s*:.*\S)")

Severity: TypeAlias = Literal["error", "warning", "information"]


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that a hint proposes."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A further fact about a problem; ``place`` is ``file:line:column``, and ``range`` is None in another file."""

    message: str
    range: Range | None
    place: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic of a text: what the command line says of the file, with its range in the text."""

    code: str
    severity: Severity
    message: str
    range: Range
    """Range in the text; of what leads to another file where the error is in that one."""
    hint: str | None
    fixes: tuple[Fix, ...]
    notes: tuple[Note, ...]
    place: str
    """Place as the command line prints it: ``file:line:column``."""


def problems_of(diagnostics: Iterable[Diagnostic], lines: Lines, label: str) -> tuple[Problem, ...]:
    """Return diagnostics of a text, whose file is called ``label`` in them."""
    return tuple(_problem(item, lines, label) for item in diagnostics)


def _problem(item: Diagnostic, lines: Lines, label: str) -> Problem:
    is_own = item.span is not None and item.span.file == label
    place = item.span if is_own else next((c.span for c in reversed(item.chain) if _is_in(c.span, label)), None)
    range_ = _leading_to(item.span, lines) if place is None else lines.range(place)
    edits = hinted_edits(item, lines) if is_own else ()
    fixes = tuple(Fix(title, found) for title, found in edits)
    severity: Severity = "warning" if item.is_warning else "error"
    elsewhere = () if is_own or item.span is None else (Related(item.message, item.span),)
    notes = tuple(_note(fact, lines, label) for fact in (*elsewhere, *item.related, *item.chain))
    return Problem(item.code, severity, item.message, range_, item.hint, fixes, notes, str(item.span or ""))


def _leading_to(span: Span | None, lines: Lines) -> Range:
    """Return the range of the key under which the file of a place is named; the beginning of the text for no file."""
    found: list[tuple[bool, int, re.Match[str]]] = []
    if span is not None and span.line:
        for number, line in enumerate(lines.lines):
            match = _FILES.match(line)
            if match is not None:
                found.append((PurePath(span.file).stem not in match[0], number, match))
    if not found:
        return Range(Position(0, 0), Position(0, 0))
    _, number, match = min(found, key=lambda one: one[:2])
    return Range(lines.position(number + 1, match.start(1) + 1), lines.position(number + 1, match.end() + 1))


def _is_in(span: Span | None, label: str) -> bool:
    return span is not None and span.file == label and span.line > 0


def _note(fact: Related, lines: Lines, label: str) -> Note:
    is_own = _is_in(fact.span, label)
    return Note(fact.text, lines.range(fact.span) if is_own and fact.span else None, str(fact.span or ""))
