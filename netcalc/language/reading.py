"""Documents of texts that change: what an edit leaves as it is, is not read again.

A text is cut into pieces, the entries at its top and of ``blocks``, and the items of ``layers``.  A piece that reads as
such an entry or item alone does so in the text.  One that is not in plain YAML may be, too, unless it has signs that
reach across pieces.  Any other text is read as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.diagnostics import NetcalcError, Span
from netcalc.limits import MAX_VALUES
from netcalc.spec.body_cache import RecentBodies
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.plain_yaml import TooManyValuesError, plain_or_line
from netcalc.spec.yaml_document import composed_root, located, parse_yaml, syntax_error, with_line_feeds
from netcalc.spec.yaml_nodes import Node

_LAYERS = "layers"
#: Header of a section in block style that is cut into pieces.
_HEADER = re.compile(r"(layers|blocks): *(?:#.*)?$")
_ITEM = re.compile(r" *- ")
#: Header of a text in block style, or a value that is not given, whose place is or goes on to the line after it.
_GOES_ON = re.compile(r"[|>][-+0-9]*[ ]*(?:#.*)?$|[:-][ ]*(?:#.*)?$", re.MULTILINE)
#: A value that is not given on the last line with text.
_NOT_GIVEN = re.compile(r"[:-] *(?:#[^\n]*)?(?:\n *(?:#[^\n]*)?)*\Z")
#: What reaches across pieces, or may: anchors, aliases, tags, directives and markers of documents.
_ACROSS = re.compile(r"^(?:---|\.\.\.|%)|(?:^|[\s\[{,])[&*!]|\t", re.MULTILINE)
#: Characters of a piece that is read although it is not in plain YAML, which takes long.
_LONGEST = 20_000
#: Entries and items before an error that are tried.
_MOST_TRIED = 5
#: An entry at the top or of a section, or an item.
_Kind: TypeAlias = Literal["map", "entry", "item"]
#: Kind and text of a piece, the line after it if a place in it goes on there, and the name of the file.
_Key: TypeAlias = "tuple[_Kind, str, str | None, str]"
_Places = tuple[Span | None, Span]


class Piece(NamedTuple):
    """An entry or item: its key if it has one, its data, and its places, whose lines count from the piece."""

    key: str | None
    cursor: Cursor
    start: Span  # of the list or mapping that it begins
    ends_here: bool  # True if the last of its lines is the first
    is_plain: bool  # False if it is not in plain YAML


class Reading:
    """Pieces of a text as it was read last, by their texts."""

    def __init__(self) -> None:
        self._pieces: dict[_Key, Piece] = {}
        self._placed: dict[Path, tuple[_Placed, Cursor]] = {}  # of the last text that was read in pieces
        #: Bodies of blocks of earlier texts.
        self.bodies = RecentBodies()
        #: False if the last text without an error was not in plain YAML, or if there was none.
        self.is_plain = False
        self._has_pieces = False  # True if the last text without an error was read in pieces
        self._right: int | None = None  # line where the last piece begins before one that cannot be read

    def read(self, text: str, label: str) -> Cursor:
        """Return the document of a text; NetcalcError as :func:`~netcalc.spec.yaml_document.parse_yaml`."""
        text = with_line_feeds(text)
        cursor = self._joined(text, label)
        if cursor is not None:
            self._has_pieces = True
            self.is_plain = all(spans.piece.is_plain for spans, _ in self._placed.values())
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
        cut = _Cut()
        self._right = None
        begins = next((number for number, line in enumerate(lines) if line and line[0] not in " #-]}"), 0)
        if any(line.strip() and not line.startswith("#") for line in lines[:begins]):
            return None
        known: dict[_Key, Piece] = {}
        for first, last in _entries(lines):
            if (header := _HEADER.match(lines[first])) is not None:
                if header[1] in cut.seen or not self._section(lines, first, last, label, known, cut, header[1]):
                    self._right = cut.before if cut.is_broken else None
                    return None
            else:
                piece = self._piece(lines, first, last, label, known, "map")
                if piece is None or piece.key is None or not cut.add((piece.key,), first, piece):
                    self._right = cut.before if piece is None else None
                    return None
        if len(cut.parts) < 2:
            return None
        self._pieces = known
        return self._document(lines, label, cut)

    def _document(self, lines: list[str], label: str, cut: _Cut) -> Cursor | None:
        """Return the document of pieces, with the cursors of those that are as they were and where they were."""
        placed: dict[Path, tuple[_Placed, Cursor]] = {}
        for path, (start, piece) in cut.parts.items():
            kept = self._placed.get(path)
            if kept is None or kept[0].piece is not piece or kept[0].start != start:
                spans = _Placed(piece, start, path)
                kept = spans, Cursor(piece.cursor.data, path, spans)
            placed[path] = kept
        every = _Spans(lines, label, (spans for spans, _ in placed.values()), cut.headers)
        if len(every) > MAX_VALUES // 2:
            return None
        self._placed = placed
        data: dict[str, Any] = {}
        for key in cut.seen:
            if key not in cut.headers:
                data[key] = placed[key,][1].data
                continue
            below = {path[1]: cursor.data for path, (_, cursor) in placed.items() if len(path) == 2 and path[0] == key}
            data[key] = list(below.values()) if key == _LAYERS else below
        document = Cursor(data, (), every)
        for path, (_, cursor) in placed.items():
            above = document if len(path) == 1 else document[path[0]]
            above.keep(path[-1], cursor)
        return document

    def _section(
        self, lines: list[str], first: int, last: int, label: str, known: dict[_Key, Piece], cut: _Cut, key: str
    ) -> bool:
        """Add the entries or items of a section; return False if it has none, or anything else."""
        cut.seen[key], cut.headers[key] = None, first
        is_list = key == _LAYERS
        starts = _item_lines(lines, first, last) if is_list else _entry_lines(lines, first, last)
        if starts is None:
            cut.is_broken = is_list
            return False
        for number, (start, end) in enumerate(pairwise([*starts, last])):
            piece = self._piece(lines, start, end, label, known, "item" if is_list else "entry")
            if piece is None or not cut.add((key, number if is_list else str(piece.key)), start, piece):
                cut.is_broken = piece is None
                return False
        return True

    def _piece(
        self, lines: list[str], first: int, last: int, label: str, known: dict[_Key, Piece], kind: _Kind
    ) -> Piece | None:
        text = _text(lines, first, last)
        follows = last < len(lines) - (not lines[-1]) and _GOES_ON.search(text) is not None
        key = (kind, text, lines[last] if follows else None, label)
        piece = known.get(key) or self._pieces.get(key) or _read_piece(*key, only_plain=self.is_plain)
        if piece is not None:
            known[key] = piece
        return piece


class _Cut:
    """The pieces of a text that are found so far, by path."""

    def __init__(self) -> None:
        self.parts: dict[Path, tuple[int, Piece]] = {}
        self.seen: dict[str, None] = {}  # keys at the top, in order
        self.headers: dict[str, int] = {}
        self.before: int | None = None  # line where the last one begins
        self.is_broken = False  # True if a piece could not be read

    def add(self, path: Path, start: int, piece: Piece) -> bool:
        """Add a piece; return False if there is one at its path already."""
        if path in self.parts or (len(path) == 1 and path[0] in self.seen):
            return False
        self.parts[path] = start, piece
        self.before = start
        if len(path) == 1:
            self.seen[str(path[0])] = None
        return True


def _lines(text: str) -> list[str]:
    """Return the lines of a text, as places in it count them."""
    return text.removesuffix("\n").split("\n")


def _text(lines: list[str], first: int, last: int) -> str:
    """Return lines of a text, with the last line break unless it is the end of the text."""
    return "\n".join(lines[first:last]) + ("\n" if last < len(lines) else "")


def _read_piece(kind: _Kind, text: str, follows: str | None, label: str, *, only_plain: bool) -> Piece | None:
    # a value that is not given has its place where the next line begins
    read = text if follows is None or _NOT_GIVEN.search(text) is None else text + _indentation(follows)
    node: Node | int | None = _plain_or_line(read)
    is_plain = isinstance(node, Node)
    if isinstance(node, int) and not only_plain and len(text) <= _LONGEST and _ACROSS.search(text) is None:
        node = composed_root(read)
    is_item = kind == "item"
    if node is None or isinstance(node, int) or len(node.value) != 1 or node.kind != ("seq" if is_item else "map"):
        return None
    lines = [*_lines(text), *([] if follows is None else [follows])]
    try:
        whole = located(node, label, lines, 0 if kind == "map" else 1)
    except NetcalcError:
        return None
    name: str | int = 0 if is_item else next(iter(whole.data))
    spans = {path[1:]: places for path, places in whole.spans.items() if path and path[0] == name}
    start = whole.spans[()][1]
    key, cursor = None if is_item else str(name), Cursor(whole.data[name], (), spans)
    return Piece(key, cursor, start, _is_on_one_line(node), is_plain)


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


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


def _entry_lines(lines: list[str], first: int, last: int) -> list[int] | None:
    """Return the lines where the entries of a mapping begin; None if something stands left of them."""
    starts: list[int] = []
    indent = 0
    for number in range(first + 1, last):
        stripped = lines[number].lstrip(" ")
        if not stripped or stripped[0] == "#":
            continue
        here = len(lines[number]) - len(stripped)
        indent = indent or here
        if here == indent:
            starts.append(number)
        elif here < indent:
            return None
    return starts or None


class _Placed(Mapping[Path, _Places]):
    """The places of an entry or item at a path of a document, whose text begins at a line."""

    def __init__(self, piece: Piece, start: int, path: Path) -> None:
        self.piece = piece
        self.start = start
        self.path = path
        self._made: dict[Path, _Places] = {}

    def __getitem__(self, path: Path) -> _Places:
        made = self._made.get(path)
        if made is None:
            if path[: len(self.path)] != self.path:
                raise KeyError(path)
            key, value = self.piece.cursor.spans[path[len(self.path) :]]
            shifted = None if key is None else key._replace(line=key.line + self.start)
            made = self._made[path] = (shifted, value._replace(line=value.line + self.start))
        return made

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, tuple) or path[: len(self.path)] != self.path:
            return False
        return path[len(self.path) :] in self.piece.cursor.spans

    def __iter__(self) -> Iterator[Path]:
        yield from ((*self.path, *path) for path in self.piece.cursor.spans)

    def __len__(self) -> int:
        return len(self.piece.cursor.spans)


class _Spans(Mapping[Path, _Places]):
    """The places of a document by path, made of those of its pieces when they are asked for.

    ``headers`` are the lines of the keys whose values are cut into pieces.
    """

    def __init__(self, lines: list[str], label: str, parts: Iterable[_Placed], headers: Mapping[str, int]) -> None:
        self._parts = {part.path: part for part in parts}
        starts = [part.start for part in self._parts.values() if len(part.path) == 1]
        first = min([*starts, *headers.values()])
        end = len(lines[first].rstrip()) + 1
        self._above: dict[Path, _Places] = {(): (None, Span(label, first + 1, 1, max(end, 2), lines[first]))}
        for name, header in headers.items():
            key = Span(label, header + 1, 1, len(name) + 1, lines[header])
            below = [part for part in self._parts.values() if len(part.path) == 2 and part.path[0] == name]
            span = below[0].piece.start._replace(line=below[0].piece.start.line + below[0].start)
            if len(below) > 1 or not below[0].piece.ends_here:
                span = span._replace(end=max(len(span.text.rstrip()), span.column) + 1)
            self._above[name,] = (key, span)

    def __getitem__(self, path: Path) -> _Places:
        above = self._above.get(path)
        if above is not None:
            return above
        part = self._parts.get(path[:1]) or self._parts.get(path[:2])
        if part is None:
            raise KeyError(path)
        return part[path]

    def __contains__(self, path: object) -> bool:
        if path in self._above:
            return True
        part = (self._parts.get(path[:1]) or self._parts.get(path[:2])) if isinstance(path, tuple) else None
        return part is not None and path in part

    def __iter__(self) -> Iterator[Path]:
        yield from self._above
        for part in self._parts.values():
            yield from part

    def __len__(self) -> int:
        return len(self._above) + sum(map(len, self._parts.values()))


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
