"""The lines of a spec with their results, seen while they are elaborated, also if there are errors."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.diagnostics import Span
from netcalc.ir import Node, Value
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.line_syntax import MODIFIERS, Line
from netcalc.spec.scope import Scope

#: Place of a line of a spec in its file: line and column, from 1.
Place = tuple[int, int]


class Seen(NamedTuple):
    """A line as it was elaborated first, and the number of times that it had another result."""

    cursor: Cursor
    place: Place
    target: Span  # of the operation or block, or of the line where it names none
    prefix: str  # path of the sequence that it is a line of
    in_main: bool  # False for a line of a block
    value: Value | None  # without a type after an error, None for a line without a value
    nodes: tuple[Node, ...]
    others: int = 0

    @property
    def depth(self) -> int:
        """Number of keys and indices that lead to the line."""
        return len(self.cursor.path)


class Watcher:
    """Witness of an elaboration, which keeps the lines of one file."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.elaboration: Elaboration | None = None
        self.lines: dict[Place, Seen] = {}

    def begin(self, elaboration: Elaboration) -> None:
        """Forget the lines of an earlier elaboration."""
        self.elaboration = elaboration
        self.lines = {}

    def line(self, cursor: Cursor, scope: Scope, value: Value | None, nodes: list[Node]) -> Seen | None:
        """Keep a line of the file; return what is kept of it, None for a line of another file."""
        span = cursor.span
        if span is None or span.file != self.label:
            return None
        in_main = self.elaboration is not None and scope.body is self.elaboration.main
        place = span.line, span.column
        seen = Seen(cursor, place, target_of(cursor) or span, scope.prefix, in_main, value, tuple(nodes))
        self.again(seen)
        return seen

    def again(self, note: Seen) -> None:
        """Keep a line of a block, which is as it was in an earlier text."""
        first = self.lines.get(note.place)
        if first is None:
            self.lines[note.place] = note
        elif _type(first.value) != _type(note.value):
            self.lines[note.place] = first._replace(others=first.others + 1)


def _type(value: Value | None) -> object:
    return None if value is None else value.type


def target_of(cursor: Cursor) -> Span | None:
    """Return the place of the operation or block that a line names first."""
    parsed = cursor.derived.get(Line)
    if isinstance(parsed, Line):
        return parsed.target_span
    if isinstance(cursor.data, dict):
        name = next((key for key in cursor.data if key not in MODIFIERS), None)
        return None if name is None else cursor[name].key_span
    return cursor.span
