"""Places of names in a text: definitions, uses, a new name for all of them, and the tree of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from netcalc.characters import is_name
from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.language.analysis import LineHint
from netcalc.language.facts import Facts
from netcalc.language.names import Symbol
from netcalc.language.positions import Edit, Lines, Position, Range
from netcalc.language.syntax import Role, Spot, target_in
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import Loaded
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE

#: What a part of the tree is.
PartKind: TypeAlias = Literal["section", "dim", "var", "input", "block", "line", "group"]
_LINE_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Location:
    """A range in the text, or in another file with its path."""

    range: Range
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A section, declaration or line of a text in the tree of its parts."""

    name: str
    kind: PartKind
    detail: str
    range: Range
    """The whole part."""
    selection: Range
    """Its name or operation."""
    children: tuple[Part, ...]


def definitions(facts: Facts, position: Position) -> tuple[Location, ...]:
    """Return the places where the name at a place is defined, in the text or in a file that it uses."""
    use = facts.names.at(*facts.place(position))
    if use is not None and use.symbol.places:
        return tuple(Location(facts.state.lines.range(span)) for span in _spans(use.symbol))
    spot = facts.spot(position)
    found = None if spot is None else _elsewhere(facts, spot, position)
    return () if found is None else (found,)


def references(facts: Facts, position: Position, *, with_definitions: bool = True) -> tuple[Location, ...]:
    """Return all places in the text of the name at a place."""
    use = facts.names.at(*facts.place(position))
    if use is None:
        return ()
    uses = (one for one in facts.names.uses_of(use.symbol) if with_definitions or not one.is_definition)
    return tuple(Location(facts.state.lines.range(one.span)) for one in uses)


def renamed_range(facts: Facts, position: Position) -> Range | None:
    """Return the range of the name at a place that can be renamed; None if there is none."""
    use = facts.names.at(*facts.place(position))
    return None if use is None or not use.symbol.places else facts.state.lines.range(use.span)


def rename(facts: Facts, position: Position, name: str) -> tuple[Edit, ...]:
    """Return the edits that give the name at a place another name, everywhere in the text.

    Raises:
        NetcalcError: E301 if there is no name, E106 if the new one is taken, E104 if it is none.
    """
    use = facts.names.at(*facts.place(position))
    if use is None or not use.symbol.places:
        raise NetcalcError(Diagnostic("E301", "there is no name here that the text defines"))
    symbol = use.symbol
    if not (_LINE_NAME.fullmatch(name) if symbol.kind == "value" else is_name(name)):
        raise NetcalcError(Diagnostic("E104", f"{name!r} is no name"))
    taken = {other.name for other in facts.names.visible_at(symbol.path)} | {*facts.names.blocks}
    if name != symbol.name and name in taken:
        raise NetcalcError(Diagnostic("E106", f"{name!r} is the name of something else"))
    edits = []
    for one in facts.names.uses_of(symbol):
        if one.span.text[one.span.column - 1 : one.span.end - 1] != symbol.name:
            message = f"{symbol.name!r} is written in another way on line {one.span.line}"
            raise NetcalcError(Diagnostic("E104", message, one.span))
        edits.append(Edit(facts.state.lines.range(one.span), name))
    return tuple(edits)


def _spans(symbol: Symbol) -> Iterator[Span]:
    for span in symbol.places:
        column = span.text.find(symbol.name, span.column - 1)
        yield span._replace(column=column + 1, end=column + 1 + len(symbol.name)) if column >= 0 else span


def _elsewhere(facts: Facts, spot: Spot, position: Position) -> Location | None:
    """Return the place in another file that a name leads to: a block, a spec that is extended, a dim or var of it."""
    loaded = facts.loaded
    role = facts.grammar.role(spot.path[:-1] if spot.is_key else spot.path)
    value = str(spot.path[-1]) if spot.is_key else facts.cursor.at(spot.path).data
    if role == Role("section", "extends") and loaded is not None and loaded.parent is not None:
        return _start(loaded.parent)
    if role.kind == "line" and isinstance(value, str) and value not in MODIFIERS:
        block = facts.grammar.block(value)
        place = None if block is None else block.cursor.key_span
        return None if block is None or place is None else _in_file(block.home, place)
    word = _word_at(facts.state.lines, position)
    above = None if loaded is None else loaded.parent
    for section in ("dims", "vars") if above is not None else ():
        data = above.cursor.data.get(section) if above is not None else None
        if above is not None and isinstance(data, dict) and word in data:
            place = above.cursor[section][word].key_span
            return None if place is None else _in_file(above, place)
    return None


def _word_at(lines: Lines, position: Position) -> str:
    text, column = lines[position.line], lines.column(position)
    return next((found[0] for found in re.finditer(r"\w+", text) if found.start() <= column <= found.end()), "")


def _start(loaded: Loaded) -> Location | None:
    start = Position(0, 0)
    return None if loaded.path is None else Location(Range(start, start), str(loaded.path))


def _in_file(home: Loaded, span: Span) -> Location | None:
    """Return a place in the file of a spec or of one that it extends."""
    file: Loaded | None = home
    while file is not None and (file.label != span.file or file.path is None):
        file = file.parent
    if file is None:
        return None
    lines = Lines(span.text)
    start, end = (lines.position(1, column).character for column in (span.column, span.end))
    return Location(Range(Position(span.line - 1, start), Position(span.line - 1, end)), str(file.path))


# -- the tree ---------------------------------------------------------------------------------------

_SECTIONS: dict[str, PartKind] = {"dims": "dim", "vars": "var", "inputs": "input", "blocks": "block"}


def tree(facts: Facts, hints: tuple[LineHint, ...]) -> tuple[Part, ...]:
    """Return the sections of a text with their declarations and lines."""
    builder = _Tree(facts, {hint.line: hint for hint in hints})
    data = facts.cursor.data
    items = facts.cursor.items() if isinstance(data, dict) else ()
    parts = (builder.section(key, item) for key, item in items if key in _SECTIONS or key in ("layers", "loss"))
    return tuple(part for part in parts if part is not None)


class _Tree:
    """Parts of the tree, with what is known of lines of the text."""

    def __init__(self, facts: Facts, hints: dict[int, LineHint]) -> None:
        self.facts = facts
        self.hints = hints

    def section(self, key: str, cursor: Cursor) -> Part | None:
        """Return a section; None for one without a place in the text."""
        if key == "layers":
            children = self.lines(cursor)
        elif key == "loss":
            children = self.lines(cursor["layers"]) if _has(cursor, "layers") else ()
        else:
            items = cursor.items() if isinstance(cursor.data, dict) else ()
            found = (self.declaration(name, item, _SECTIONS[key]) for name, item in items)
            children = tuple(part for part in found if part is not None)
        return self.part(key, "section", "", cursor, cursor.key_span, children)

    def declaration(self, name: str, cursor: Cursor, kind: PartKind) -> Part | None:
        """Return a dim, var, input or block."""
        lines = self.lines(cursor["layers"]) if kind == "block" and _has(cursor, "layers") else ()
        detail = "" if kind == "block" or isinstance(cursor.data, dict) else str(cursor.data)
        return self.part(str(name), kind, detail[:60], cursor, cursor.key_span, lines)

    def lines(self, cursor: Cursor) -> tuple[Part, ...]:
        """Return the lines of a list."""
        items = cursor.elements() if isinstance(cursor.data, list) else ()
        found = (self.line(item) for item in items)
        return tuple(part for part in found if part is not None)

    def line(self, cursor: Cursor) -> Part | None:
        """Return a line with the lines inside it."""
        data, target = cursor.data, target_in(cursor.data)
        if target is None:
            return None
        children: list[Part] = []
        if isinstance(data, dict):
            below = cursor[target]
            if target == SEQUENCE:
                children += self.lines(below)
            elif isinstance(below.data, dict):
                for key, item in below.items():
                    if self.facts.grammar.argument(target, below.data, key).kind == "lines":
                        children += self.lines(item)
        name = str(data["name"]) if isinstance(data, dict) and "name" in data else ""
        place = cursor[target].key_span if isinstance(data, dict) else cursor.span
        hint = self.hints.get(place.line - 1) if place is not None else None
        detail = " ".join(filter(None, (target if name else "", hint.text() if hint else "")))
        kind: PartKind = "group" if children else "line"
        return self.part(name or target, kind, detail, cursor, place, tuple(children))

    def part(
        self, name: str, kind: PartKind, detail: str, cursor: Cursor, place: Span | None, children: tuple[Part, ...]
    ) -> Part | None:
        """Return a part whose range encloses its name and everything in it; None if it is in another file."""
        if place is None or place.file != self.facts.state.label or not name:
            return None
        lines = self.facts.state.lines
        selection = lines.range(place)
        whole = [lines.range(span) for span in _places(cursor) if span.file == place.file]
        start = min([selection.start, *(one.start for one in whole)])
        end = max([selection.end, *(one.end for one in whole)])
        return Part(name, kind, detail, Range(start, end), selection, children)


def _has(cursor: Cursor, key: str) -> bool:
    return isinstance(cursor.data, dict) and key in cursor.data


def _places(cursor: Cursor) -> Iterator[Span]:
    """Yield the places of a value, its key and the last of the values in it."""
    yield from (span for span in (cursor.key_span, cursor.span) if span is not None)
    data = cursor.data
    if isinstance(data, (dict, list)) and data:
        last = cursor[next(reversed(data))] if isinstance(data, dict) else cursor[len(data) - 1]
        yield from _places(last)
