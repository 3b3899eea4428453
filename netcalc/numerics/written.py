"""Arrays that are written as text: YAML lists such as ``[[1, 2], [3, 4]]``, numbers, and files of numbers in rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError, Span, written
from netcalc.files import read_at_most
from netcalc.limits import MAX_INPUT_TEXT
from netcalc.spec.cursor import Cursor
from netcalc.spec.yaml_document import parse_yaml

#: Suffixes of files of numbers in rows.
TEXT_FILES = (".csv", ".txt")
#: Between the numbers of a row.
_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")
_NUMBER = re.compile(
    r"[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan)", re.ASCII | re.IGNORECASE
)


class Written(NamedTuple):
    """Numbers in nested lists, their shape, and the place where they stand."""

    numbers: Any
    shape: tuple[int, ...]
    place: Span
    is_table: bool = False
    """True for the rows of a file, of which a single row or column is a vector too."""

    def of_rank(self, rank: int) -> Written:
        """Return a table of one row or column as a vector, if the input is one."""
        if not self.is_table or rank != 1 or 1 not in self.shape:
            return self
        flat = [number for row in self.numbers for number in row]
        return self._replace(numbers=flat, shape=(len(flat),))


def is_literal(text: str) -> bool:
    """Return True for a text that holds numbers itself: a list in brackets, a number, or a truth value."""
    text = text.strip()
    return text.startswith("[") or _NUMBER.fullmatch(text) is not None or text.lower() in ("true", "false")


def read_literal(label: str, text: str) -> Written:
    """Return the numbers of a list as YAML writes it; ``label`` names it in the places of errors.

    Raises:
        NetcalcError: E602 for a text that is no list, for items that are no numbers, and for lists of different
            lengths side by side.
    """
    place = Span(label, 1, 1, len(text) + 1, text)
    try:
        cursor = parse_yaml(text, label)
    except NetcalcError as error:
        hint = "write numbers in brackets, separated by commas, as in [[1, 2], [3, 4]]"
        raise NetcalcError(d._replace(code="E602", hint=hint) for d in error.diagnostics) from None
    return Written(cursor.data, _shape(cursor), place)


def read_rows(path: Path) -> Written:
    """Return the numbers of a file of rows, separated by commas, semicolons or spaces; ``#`` begins a comment.

    Raises:
        NetcalcError: E605 for a file that cannot be read or is too large; E602 for what is no number, and for rows of
            different lengths.
    """
    rows: list[list[float | int]] = []
    for number, line in enumerate(_text_of(path).split("\n"), 1):
        row = list(_row(str(path), number, line))
        if row and rows and len(row) != len(rows[0]):
            place = Span(str(path), number, 1, len(line) + 1, line)
            message = f"this row has {_numbers(len(row))}, and the first has {len(rows[0])}"
            raise NetcalcError(Diagnostic("E602", message, place))
        if row:
            rows.append(row)
    if not rows:
        raise NetcalcError(Diagnostic("E602", f"{path} has no numbers"))
    return Written(rows, (len(rows), len(rows[0])), Span(str(path)), is_table=True)


def _text_of(path: Path) -> str:
    require_readable(path)
    try:
        with path.open("rb") as file:
            content = read_at_most(file, MAX_INPUT_TEXT + 1)
    except OSError as error:
        raise NetcalcError(Diagnostic("E605", f"{path} cannot be read: {error.strerror or error}")) from None
    if len(content) > MAX_INPUT_TEXT:
        message = f"{path} is larger than {MAX_INPUT_TEXT:,} bytes"
        raise NetcalcError(Diagnostic("E605", message, hint="store large arrays as .npy"))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise NetcalcError(Diagnostic("E605", f"{path} is no text in UTF-8")) from None


def _row(file: str, number: int, line: str) -> Iterator[float | int]:
    """Yield the numbers of a line."""
    text, start = line.partition("#")[0], 0
    for separator in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if separator is None else separator.start()
        word = text[start:end]
        if word:
            value = _number(word)
            if value is None:
                place = Span(file, number, start + 1, end + 1, line)
                raise NetcalcError(Diagnostic("E602", f"{written(word, quoted=True)} is no number", place))
            yield value
        start = end if separator is None else separator.end()


def _number(word: str) -> float | int | None:
    try:
        return int(word) if word.lstrip("+-").isdecimal() else float(word)
    except ValueError:
        return None


def _shape(cursor: Cursor) -> tuple[int, ...]:
    """Return the sizes of nested lists of numbers."""
    if not isinstance(cursor.data, list):
        if type(cursor.data) not in (int, float, bool):
            shown = written(cursor.data, quoted=True)
            separated = isinstance(cursor.data, str) and len(_SEPARATOR.split(cursor.data)) > 1
            hint = "separate numbers by commas" if separated else None
            raise cursor.error("E602", f"{shown} is no number", hint)
        return ()
    shapes = [_shape(item) for item in cursor.elements()]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            message = f"item {index} is {_described(shape)}, and item 0 is {_described(shapes[0])}"
            raise cursor[index].error("E602", message, "all items of a list have one shape")
    return (len(shapes), *(shapes[0] if shapes else ()))


def _described(shape: tuple[int, ...]) -> str:
    if not shape:
        return "a number"
    return f"a list of {_numbers(shape[0])}" if len(shape) == 1 else "×".join(map(str, shape))


def _numbers(count: int) -> str:
    return f"{count:,} number{'' if count == 1 else 's'}"
