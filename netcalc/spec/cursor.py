"""A value in a spec document together with its place, for diagnostics."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from netcalc.diagnostics import Diagnostic, NetcalcError, Span

#: Keys and indices from the top of the document to a value.
Path: TypeAlias = tuple[str | int, ...]
#: The places of the key and of the value at each path; an item of a list has no key.
Spans: TypeAlias = Mapping[Path, tuple[Span | None, Span]]
_T = TypeVar("_T")


def kept(derived: dict[Any, Any], key: Any, make: Callable[[], _T]) -> _T:
    """Return what follows from a document or a value of it, made at its first use and kept under a key."""
    if key not in derived:
        derived[key] = make()
    made: _T = derived[key]
    return made


class Cursor:
    """A value in a document, with its path and the places of everything in the document.

    ``derived`` is what follows from the value and its place, by keys of those who need it again.
    """

    __slots__ = ("_below", "_places", "data", "derived", "path", "spans")

    def __init__(self, data: Any, path: Path, spans: Spans) -> None:
        self.data = data
        self.path = path
        self.spans = spans
        self.derived: dict[Any, Any] = {}
        self._below: dict[str | int, Cursor] = {}
        self._places: tuple[Span | None, Span | None] | None = None

    def __reduce__(self) -> tuple[type[Cursor], tuple[Any, Path, Spans]]:
        """Return what a copy in another process is made of: what is derived is derived there."""
        return (type(self), (self.data, self.path, self.spans))

    def __getitem__(self, key: str | int) -> Cursor:
        below = self._below.get(key)
        if below is None:
            below = self._below[key] = Cursor(self.data[key], (*self.path, key), self.spans)
        return below

    def keep(self, key: str | int, below: Cursor) -> None:
        """Take a cursor of the value at a key, with what follows from it, made in a document that has it too."""
        self._below[key] = below

    def items(self) -> Iterator[tuple[str, Cursor]]:
        """Yield the entries of a mapping."""
        for key in self.data:
            yield key, self[key]

    def elements(self) -> Iterator[Cursor]:
        """Yield the items of a list."""
        for index in range(len(self.data)):
            yield self[index]

    @property
    def span(self) -> Span | None:
        """Place of the value, or of the nearest enclosing value that has one."""
        return self._nearest()[1]

    @property
    def key_span(self) -> Span | None:
        """Place of the key, or of the value if it has no key."""
        key, value = self._nearest()
        return key or value

    def error(self, code: str, message: str, hint: str | None = None) -> NetcalcError:
        """Return an error at the place of the value."""
        return NetcalcError(Diagnostic(code, message, self.span, hint=hint))

    def key_error(self, code: str, message: str, hint: str | None = None) -> NetcalcError:
        """Return an error at the place of the key."""
        return NetcalcError(Diagnostic(code, message, self.key_span, hint=hint))

    def at(self, path: Path) -> Cursor:
        """Return the cursor at ``path`` below this one, or at the longest prefix of it that exists."""
        cursor = self
        for part in path:
            data = cursor.data
            is_key = isinstance(data, dict) and part in data
            is_index = isinstance(data, list) and isinstance(part, int) and part < len(data)
            if not (is_key or is_index):
                break
            cursor = cursor[part]
        return cursor

    def overlaid(self, other: Cursor, own: Any) -> Cursor:
        """Return this cursor, where data that comes from ``other`` has its places there.

        ``own`` is the part of the data that keeps its places: a mapping of the keys that do, or None for all of it.
        """
        if own is None:
            return self
        overlay: dict[Path, tuple[Span | None, Span]] = {}
        pending: list[Path] = [(key,) for key in other.data if key not in own] if isinstance(other.data, dict) else []
        if not own:
            pending.append(())
        while pending:
            path = pending.pop()
            here = other.at(path)
            key, value = here._nearest()
            if value is not None:
                overlay[*self.path, *path] = (key, value)
            if path and isinstance(here.data, (dict, list)):
                keys = here.data if isinstance(here.data, dict) else range(len(here.data))
                pending += ((*path, key) for key in keys)
        return Cursor(self.data, self.path, ChainMap(overlay, cast("dict[Path, tuple[Span | None, Span]]", self.spans)))

    def replaced(self, data: Any) -> Cursor:
        """Return a cursor to other data at the same place."""
        return Cursor(data, self.path, self.spans)

    def under(self, key: str) -> Cursor:
        """Return a cursor to a mapping whose only value is this one, at the same place."""
        mapping = self.replaced({key: self.data})
        mapping._below[key] = self
        return mapping

    def _nearest(self) -> tuple[Span | None, Span | None]:
        if self._places is None:
            path = self.path
            while path not in self.spans and path:
                path = path[:-1]
            self._places = self.spans.get(path, (None, None))
        return self._places


def within(span: Span | None, text: str, column: int, length: int = 1) -> Span | None:
    """Return the part of a scalar's span that starts ``column`` characters into ``text``.

    In a scalar of several lines that is the first of them with these characters.  The whole span is returned if there
    is none.
    """
    if span is None:
        return None
    length = max(length, 1)
    start = span.text.find(text, max(span.column - 1, 0))
    if span.text and start >= 0:
        return span._replace(column=start + column + 1, end=start + column + 1 + length)
    part = text[column : column + length]
    for number, line in enumerate((span.text, *span.more)):
        found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", line) if span.more and part.strip() else None
        if found is not None:
            return Span(span.file, span.line + number, found.start() + 1, found.end() + 1, line)
    return span
