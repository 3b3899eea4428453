"""Record of errors, which ``--format json`` prints for bad input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from netcalc.diagnostics import CODES, Diagnostic, Related, Span, clipped, written
from netcalc.limits import MAX_MESSAGE
from netcalc.records.writing import record
from netcalc.results import recorded


class FilePlace(NamedTuple):
    """A place in a file; lines and columns count from 1, and `end` is the column after the last."""

    file: str
    line: int
    column: int
    end: int


class DataPlace(NamedTuple):
    """A place in a spec given as Python data."""

    file: str
    path: str
    """Keys and indices, such as `layers[3].conv2d.out`."""


class Fact(NamedTuple):
    """A fact that belongs to an error, with its place."""

    text: str
    at: FilePlace | DataPlace | None


class Error(NamedTuple):
    """An error."""

    code: str
    title: str
    """Meaning of the code."""
    message: str
    at: FilePlace | DataPlace | None
    related: tuple[Fact, ...]
    chain: tuple[Fact, ...]
    """Blocks and repeats that led to the place, outermost first."""
    bindings: Mapping[str, Any]
    """Arguments in force at the place; the text of a value that takes over 1,000 characters, clipped."""
    hint: str | None


@recorded(name="errors")
class Errors(NamedTuple):
    """Errors in the input; the last one (E003) tells if there are more than are listed."""

    errors: tuple[Error, ...]


def errors_record(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return the record of diagnostics."""
    return record(Errors(tuple(map(_error, diagnostics))))


def _error(diagnostic: Diagnostic) -> Error:
    return Error(
        diagnostic.code,
        CODES[diagnostic.code],
        clipped(diagnostic.message, MAX_MESSAGE),
        _place(diagnostic.span),
        _facts(diagnostic.related),
        _facts(diagnostic.chain),
        {name: _binding(value) for name, value in diagnostic.bindings.items()},
        None if diagnostic.hint is None else clipped(diagnostic.hint, MAX_MESSAGE),
    )


def _binding(value: Any) -> Any:
    text = written(value, length=MAX_MESSAGE + 1)
    return value if len(text) <= MAX_MESSAGE else clipped(text, MAX_MESSAGE)


def _facts(related: Iterable[Related]) -> tuple[Fact, ...]:
    return tuple(Fact(clipped(fact.text, MAX_MESSAGE), _place(fact.span)) for fact in related)


def _place(span: Span | None) -> FilePlace | DataPlace | None:
    if span is None:
        return None
    return FilePlace(span.file, span.line, span.column, span.end) if span.line else DataPlace(span.file, span.path)
