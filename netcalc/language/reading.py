"""Documents of texts that change: what an edit leaves as it is, is not read again.

A text is cut into pieces, the entries at its top and the items of ``layers``.  A piece that reads as such an entry or
item alone does so in the text.  Any other text is read as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from netcalc.diagnostics import NetcalcError, Span
from netcalc.limits import MAX_VALUES
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.plain_yaml import TooManyValuesError, plain_or_line
from netcalc.spec.yaml_document import located, parse_yaml, syntax_error, with_line_feeds
from netcalc.spec.yaml_nodes import Node

_LAYERS = "layers"
#: Header of a list in block style.
_HEADER = re.compile(r"layers: *(?:#.*)?$")
_ITEM = re.compile(r" *- ")
#: Header of a text in block style, or a value that is not given, whose place is or goes on to the line after it.
_GOES_ON = re.compile(r"[|>][-+0-9]*[ ]*(?:#.*)?$|[:-][ ]*(?:#.*)?$", re.MULTILINE)
#: Entries and items before an error that are tried.
_MOST_TRIED = 5
#: Text of a piece, the line after it if a place in it goes on there, and the name of the file.
_Key = tuple[str, "str | None", str]
_Places = tuple[Span | None, Span]


class Piece(NamedTuple):
    """An entry or item: its key if it has one, its data, and its places, whose lines count from the piece."""

    key: str | None
    cursor: Cursor
    start: Span  # of the list that an item begins
    ends_here: bool  # True if the last of its lines is the first


class Reading:
    """Pieces of a text as it was read last, by their texts."""

    def __init__(self) -> None:
        self._entries: dict[_Key, Piece] = {}
        self._items: dict[_Key, Piece] = {}
        #: False if the last text without an error was not in plain YAML.
        self.is_plain = True
        self._has_pieces = False  # True if the last text without an error was read in pieces
        self._right: int | None = None  # line where the last piece begins before one that cannot be read

    def read(self, text: str, label: str) -> Cursor:
        """Return the document of a text; NetcalcError as :func:`~netcalc.spec.yaml_document.parse_yaml`."""
        text = with_line_feeds(text)
        cursor = self._joined(text, label)
        if cursor is not None:
            self.is_plain = self._has_pieces = True
            return cursor
        found: Node | int | None = None
        start = self._right
        if start is None:
            found = _plain_or_line(text)
            start = _last_right(_lines(text), found) if isinstance(found, int) else None
        if start is not None and (error := _error_after(text, label, start)) is not None:
            raise error
        self._has_pieces = False
        self.is_plain = isinstance(found, Node)
        return located(found, label, _lines(text)) if isinstance(found, Node) else parse_yaml(text, label)

    def plain(self, text: str, label: str) -> Cursor | None:
        """Return the document of a text in plain YAML; None for any other text, with an error or without."""
        text = with_line_feeds(text)
        cursor = self._joined(text, label)
        if cursor is not None:
            return cursor
        found = None if self._has_pieces and self._right is not None else _plain_or_line(text)
        if found is None or isinstance(found, int):
            return None
        try:
            return located(found, label, _lines(text))
        except NetcalcError:
            return None

    def _joined(self, text: str, label: str) -> Cursor | None:
        """Return the document of the pieces of a text; None if it has others."""
        lines = text.split("\n")
        entries: dict[_Key, Piece] = {}
        items: dict[_Key, Piece] = {}
        parts: list[tuple[int, Piece]] = []
        listed: list[tuple[int, Piece]] = []
        seen: set[str] = set()
        self._right = before = None
        begins = next((number for number, line in enumerate(lines) if line and line[0] not in " #-]}"), 0)
        if any(line.strip() and not line.startswith("#") for line in lines[:begins]):
            return None
        for first, last in _entries(lines):
            if _HEADER.match(lines[first]):
                if _LAYERS in seen:
                    return None
                seen.add(_LAYERS)
                is_whole = self._layers(lines, first, last, label, items, listed)
                before = listed[-1][0] if listed else before
                if not is_whole:
                    self._right = before
                    return None
            else:
                piece = self._piece(lines, first, last, label, self._entries, entries, is_item=False)
                if piece is None or piece.key is None or piece.key in seen:
                    self._right = before if piece is None else None
                    return None
                seen.add(piece.key)
                parts.append((first, piece))
                before = first
        if len(parts) < 2:
            return None
        self._entries, self._items = entries, items
        spans = _Spans(lines, label, {piece.key or "": (first, piece) for first, piece in parts}, listed)
        if len(spans) > MAX_VALUES // 2:
            return None
        order = sorted([(first, piece.key, piece.cursor.data) for first, piece in parts])
        data = {key: value for _, key, value in order}
        if listed:
            header = spans.header
            below = [piece.cursor.data for _, piece in listed]
            data = {key: value for _, key, value in sorted([*order, (header, _LAYERS, below)], key=lambda one: one[0])}
        return Cursor(data, (), spans)

    def _layers(
        self,
        lines: list[str],
        first: int,
        last: int,
        label: str,
        known: dict[_Key, Piece],
        listed: list[tuple[int, Piece]],
    ) -> bool:
        """Add the items of a list; return False if it has none, or anything else, or an item that cannot be read."""
        starts = _item_lines(lines, first, last)
        if starts is None:
            return False
        for start, end in pairwise([*starts, last]):
            piece = self._piece(lines, start, end, label, self._items, known, is_item=True)
            if piece is None:
                return False
            listed.append((start, piece))
        return True

    def _piece(
        self,
        lines: list[str],
        first: int,
        last: int,
        label: str,
        earlier: dict[_Key, Piece],
        known: dict[_Key, Piece],
        *,
        is_item: bool,
    ) -> Piece | None:
        text = _text(lines, first, last)
        follows = last < len(lines) - (not lines[-1]) and _GOES_ON.search(text) is not None
        key = (text, lines[last] if follows else None, label)
        piece = known.get(key) or earlier.get(key) or _read_piece(*key, is_item=is_item)
        if piece is not None:
            known[key] = piece
        return piece


def _lines(text: str) -> list[str]:
    """Return the lines of a text, as places in it count them."""
    return text.removesuffix("\n").split("\n")


def _text(lines: list[str], first: int, last: int) -> str:
    """Return lines of a text, with the last line break unless it is the end of the text."""
    return "\n".join(lines[first:last]) + ("\n" if last < len(lines) else "")


def _read_piece(text: str, follows: str | None, label: str, *, is_item: bool) -> Piece | None:
    node = _plain_or_line(text)
    if node is None or isinstance(node, int) or len(node.value) != 1 or node.kind != ("seq" if is_item else "map"):
        return None
    lines = [*_lines(text), *([] if follows is None else [follows])]
    try:
        whole = located(node, label, lines, 1 if is_item else 0)
    except NetcalcError:
        return None
    name: str | int = 0 if is_item else next(iter(whole.data))
    spans = {path[1:]: places for path, places in whole.spans.items() if path and path[0] == name}
    start = whole.spans[()][1]
    return Piece(None if is_item else str(name), Cursor(whole.data[name], (), spans), start, _is_on_one_line(node))


def _is_on_one_line(node: Node) -> bool:
    return bool(node.end.line == node.start.line)


def _entries(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each entry at the top, and the line after its last one."""
    starts = [number for number, line in enumerate(lines) if line and line[0] not in " #-]}"]
    yield from pairwise([*starts, len(lines)])


def _item_lines(lines: list[str], first: int, last: int) -> list[int] | None:
    """Return the lines where the items of a list begin; None if something stands before or left of them."""
    starts: list[int] = []
    indent = 0
    for number in range(first + 1, last):
        line = lines[number]
        stripped = line.lstrip(" ")
        if not stripped or stripped[0] == "#":
            continue
        here = len(line) - len(stripped)
        if not starts:
            indent = here
        if here == indent and _ITEM.match(line):
            starts.append(number)
        elif here <= indent:
            return None
    return starts or None


class _Spans(Mapping[Path, _Places]):
    """The places of a document by path, made of those of its pieces when they are asked for."""

    def __init__(
        self, lines: list[str], label: str, entries: Mapping[str, tuple[int, Piece]], items: list[tuple[int, Piece]]
    ) -> None:
        self._entries = entries
        self._items = items
        self._made: dict[Path, _Places] = {}
        self.header = next((n for n, line in enumerate(lines) if items and _HEADER.match(line)), -1)
        first = min([start for start, _ in entries.values()] + ([self.header] if items else []))
        end = len(lines[first].rstrip()) + 1
        self._made[()] = (None, Span(label, first + 1, 1, max(end, 2), lines[first]))
        if items:
            line = lines[self.header]
            key = Span(label, self.header + 1, 1, len(_LAYERS) + 1, line)
            start, piece = items[0]
            span = piece.start._replace(line=piece.start.line + start)
            if len(items) > 1 or not piece.ends_here:
                span = span._replace(end=max(len(span.text.rstrip()), span.column) + 1)
            self._made[_LAYERS,] = (key, span)

    def __getitem__(self, path: Path) -> _Places:
        made = self._made.get(path)
        if made is None:
            start, piece, rest = self._find(path)
            key, value = piece.cursor.spans[rest]
            shifted = None if key is None else key._replace(line=key.line + start)
            made = self._made[path] = (shifted, value._replace(line=value.line + start))
        return made

    def _find(self, path: Path) -> tuple[int, Piece, Path]:
        if self._items and path[0] == _LAYERS:
            number = path[1]
            if not isinstance(number, int) or not 0 <= number < len(self._items):
                raise KeyError(path)
            return *self._items[number], path[2:]
        return *self._entries[path[0]], path[1:]  # type: ignore[index]

    def __contains__(self, path: object) -> bool:
        if path in self._made:
            return True
        if not isinstance(path, tuple) or not path:
            return False
        try:
            _, piece, rest = self._find(path)
        except (KeyError, IndexError):
            return False
        return rest in piece.cursor.spans

    def __iter__(self) -> Iterator[Path]:
        yield ()
        for key, (_, piece) in self._entries.items():
            yield from ((key, *path) for path in piece.cursor.spans)
        if self._items:
            yield (_LAYERS,)
        for number, (_, piece) in enumerate(self._items):
            yield from ((_LAYERS, number, *path) for path in piece.cursor.spans)

    def __len__(self) -> int:
        pieces = [piece for _, piece in (*self._entries.values(), *self._items)]
        return 1 + bool(self._items) + sum(len(piece.cursor.spans) for piece in pieces)


def _plain_or_line(text: str) -> Node | int | None:
    """Return the root node of a text in plain YAML, or the line where another one ends to be; None above a limit."""
    try:
        return plain_or_line(text)
    except TooManyValuesError:
        return None


def _error_after(text: str, label: str, start: int) -> NetcalcError | None:
    """Return the syntax error of a text that is right up to an entry or item, which begins at a line and is right too.

    The lines before it are left out, but those that it stands below.  None if the error is not there, so that the whole
    text has to be read.
    """
    lines = _lines(text)
    kept = [""] * start
    indent = len(lines[start]) - len(lines[start].lstrip(" "))
    for number in range(start - 1, -1, -1):
        one = lines[number]
        here = len(one) - len(one.lstrip(" "))
        if one.strip() and not one.lstrip().startswith("#") and here < indent:
            kept[number], indent = one, here
    return syntax_error("\n".join([*kept, *lines[start:]]) + ("\n" if text.endswith("\n") else ""), label, lines)


def _last_right(lines: list[str], line: int) -> int | None:
    """Return the line where the last entry or item before a line begins that is right, with all before it."""
    line = min(line, len(lines) - 1)
    starts = [number for number in range(line + 1) if lines[number] and lines[number][0] not in " #-]}"]
    if starts and lines[starts[-1]].rstrip().endswith(":"):
        starts += _item_lines(lines, starts[-1], line + 1) or []
    for number in range(len(starts) - 1, max(len(starts) - _MOST_TRIED, 0), -1):
        before = _plain_or_line("".join(f"{one}\n" for one in lines[: starts[number]]))
        if isinstance(before, Node):
            return starts[number - 1]
    return None
