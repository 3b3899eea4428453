"""Spec documents given as Python data; diagnostics name the path in the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.arguments import plain
from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError, Span, written
from netcalc.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from netcalc.spec.cursor import Cursor, Path


def read_data(data: Any, label: str) -> Cursor:
    """Return a copy of ``data`` with the path of every value as its place.

    Mappings have string keys; tuples are read as lists, and NumPy scalars as numbers.

    Raises:
        NetcalcError: E003 for data too large or too deep, E104 for anything that YAML could not hold.
    """
    reader = _DataReader(label)
    return Cursor(reader.read(data, (), 0), (), reader.spans)


def read_setting(name: str, value: Any) -> Any:
    """Return a value of ``set`` as plain data; NetcalcError (E501) if it holds anything that YAML could not hold."""
    value = plain(value)
    if not isinstance(value, (list, tuple, Mapping)):
        return value
    try:
        return read_data(value, f"set[{name!r}]").data
    except NetcalcError as error:
        raise NetcalcError(problem._replace(code="E501") for problem in error.diagnostics) from None


class _DataReader:
    def __init__(self, label: str) -> None:
        self.label = label
        self.spans: dict[Path, tuple[Span | None, Span]] = {}

    def read(self, value: Any, path: Path, depth: int) -> Any:
        span = Span(self.label, path=_written_path(path))
        self.spans[path] = (None, span)
        if len(self.spans) > MAX_VALUES:
            raise NetcalcError(Diagnostic("E003", f"the document has over {MAX_VALUES:,} values", span))
        if depth > MAX_DEPTH:
            raise NetcalcError(Diagnostic("E003", f"nested deeper than {MAX_DEPTH} levels", span))
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise NetcalcError(Diagnostic("E104", f"a key should be a string, not {written(key)}", span))
            return {composed(key): self.read(item, (*path, composed(key)), depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.read(item, (*path, index), depth + 1) for index, item in enumerate(value)]
        value = plain(value)
        if value is not None and type(value) not in (str, int, float, bool):
            message = f"should be a mapping, list, string, number, boolean or None, not {type(value).__name__}"
            raise NetcalcError(Diagnostic("E104", message, span))
        if type(value) is int and abs(value) >= 10**MAX_DIGITS:
            raise NetcalcError(Diagnostic("E003", f"a number of over {MAX_DIGITS:,} digits", span))
        return composed(value) if type(value) is str else value


def _written_path(path: Path) -> str:
    """Return a path as it is written in Python or JavaScript, e.g. ``layers[3].conv2d.out``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
