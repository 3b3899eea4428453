"""JSON documents, read to plain data with the place of every key and value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.plain_text import joined_surrogates

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def parse_json(text: str, file: str) -> Cursor:
    """Return the data of a JSON document with the place of every key and value; ``file`` is named in the places.

    Raises:
        NetcalcError: E001 (syntax), E002 (duplicate key) or E003 (too large or too deep).
    """
    reader = _Reader(text.removeprefix("\ufeff"), file)
    return Cursor(reader.data, (), reader.spans)


class _Reader:
    """A document with its lines; places are found after the text has been read, token by token."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.lines = text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.spans: dict[Path, tuple[Span | None, Span]] = {}
        self._check_size(text)
        try:
            data = json.loads(text, object_pairs_hook=_Pairs, parse_int=self._integer)
        except json.JSONDecodeError as error:
            raise self._error("E001", f"JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.pos) from None
        for path, key, value in self._places(text):
            self.spans[path] = (key, value)
        self.data = self._plain_data(data, ())

    def _check_size(self, text: str) -> None:
        """Raise NetcalcError (E003) for more values or levels than a document may have."""
        depth = count = 0
        for match in _TOKEN.finditer(text):
            token = match[0]
            if token in "{[":
                depth += 1
            elif token in "}]":
                depth -= 1
            elif token in ",:":
                count += 1
            if depth > MAX_DEPTH:
                raise self._error("E003", f"nested deeper than {MAX_DEPTH} levels", match.start())
            if count > MAX_VALUES:
                raise self._error("E003", f"the document has over {MAX_VALUES:,} values", match.start())

    def _integer(self, digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise NetcalcError(Diagnostic("E003", f"a number of over {MAX_DIGITS:,} digits", Span(self.file)))
        return int(digits)

    def _places(self, text: str) -> Iterator[tuple[Path, Span | None, Span]]:
        """Yield the path, the place of the key and the place of the value, for every value of a valid text."""
        path: list[str | int] = []
        keys: list[Span | None] = []  # of the containers around and of the value to come
        kinds: list[str] = []
        expects_key = False
        for match in _TOKEN.finditer(text):
            token, span = match[0], self._span(match.start(), match.end())
            if token == ":":
                expects_key = False
            elif token == ",":
                expects_key = kinds[-1] == "{"
                if not expects_key:
                    path[-1] = int(path[-1]) + 1
            elif token in "}]":
                kinds.pop()
                path.pop()
                keys.pop()
            elif expects_key:
                path[-1], keys[-1] = joined(json.loads(token)), span
            else:
                yield tuple(path), keys[-1] if kinds and kinds[-1] == "{" else None, span
                if token in "{[":
                    kinds.append(token)
                    path.append(0)
                    keys.append(None)
                    expects_key = token == "{"

    def _plain_data(self, data: Any, path: Path) -> Any:
        """Return the data with mappings for lists of pairs; NetcalcError for keys that are given twice."""
        if isinstance(data, _Pairs):
            keys = [joined(key) for key, _ in data]
            if len(set(keys)) < len(keys):
                key = Counter(keys).most_common(1)[0][0]
                raise NetcalcError(Diagnostic("E002", f"duplicate key {key!r}", self.spans[*path, key][0]))
            return {key: self._plain_data(value, (*path, key)) for key, (_, value) in zip(keys, data, strict=True)}
        if isinstance(data, list):
            return [self._plain_data(value, (*path, index)) for index, value in enumerate(data)]
        try:
            return joined_surrogates(data) if isinstance(data, str) else data
        except UnicodeError:
            message = "half of a surrogate pair is no character"
            raise NetcalcError(Diagnostic("E001", message, self.spans[path][1])) from None

    def _span(self, start: int, end: int) -> Span:
        line = bisect_right(self.starts, start) - 1
        first = self.starts[line]
        return Span(self.file, line + 1, start - first + 1, end - first + 1, self.lines[line])

    def _error(self, code: str, message: str, position: int) -> NetcalcError:
        start = min(position, self.starts[-1] - 1)
        return NetcalcError(Diagnostic(code, message, self._span(start, start + 1)))


class _Pairs(list[tuple[str, Any]]):
    """The entries of an object, of which a later one may have the key of an earlier one."""


def joined(key: str) -> str:
    """Return a key as text; one that is no text is compared as it is written."""
    try:
        return joined_surrogates(key)
    except UnicodeError:
        return key.encode(errors="backslashreplace").decode()
