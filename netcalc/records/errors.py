"""Record of errors, which ``--format json`` prints for bad input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from typing_extensions import TypedDict

from netcalc.diagnostics import CODES, Diagnostic, NetcalcError, Related, Span, clipped, written
from netcalc.limits import MAX_MESSAGE
from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.version import __version__

__all__ = ["ErrorsRecord", "error_record", "errors_record"]


class SpanRecord(TypedDict):
    """A place in a file; lines and columns count from 1, and `end` is the column after the last."""

    file: str
    line: int
    column: int
    end: int


class DataPathRecord(TypedDict):
    """A place in a spec given as Python data."""

    file: str
    path: str
    """Keys and indices, such as `layers[3].conv2d.out`."""


class RelatedRecord(TypedDict):
    """A fact that belongs to an error, with its place."""

    text: str
    at: SpanRecord | DataPathRecord | None


class DiagnosticRecord(TypedDict):
    """An error."""

    code: str
    title: str
    """Meaning of the code."""
    message: str
    at: SpanRecord | DataPathRecord | None
    related: list[RelatedRecord]
    chain: list[RelatedRecord]
    """Blocks and repeats that led to the place, outermost first."""
    bindings: dict[str, Any]
    """Arguments in force at the place; the text of a value that takes over 1,000 characters, clipped."""
    hint: str | None


class ErrorsRecord(TypedDict):
    """Errors in the input; the last one (E003) tells if there are more than are listed."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    errors: list[DiagnosticRecord]


def error_record(error: NetcalcError) -> ErrorsRecord:
    """Return the record of an error with all its diagnostics."""
    return errors_record(error.diagnostics)


def errors_record(diagnostics: Sequence[Diagnostic]) -> ErrorsRecord:
    """Return the record of diagnostics."""
    return {
        "schema": schema_id("errors"),
        "netcalc": __version__,
        "errors": [_diagnostic(diagnostic) for diagnostic in diagnostics],
    }


def _diagnostic(diagnostic: Diagnostic) -> DiagnosticRecord:
    return {
        "code": diagnostic.code,
        "title": CODES[diagnostic.code],
        "message": clipped(diagnostic.message, MAX_MESSAGE),
        "at": _span(diagnostic.span),
        "related": _related(diagnostic.related),
        "chain": _related(diagnostic.chain),
        "bindings": {name: _binding(value) for name, value in diagnostic.bindings.items()},
        "hint": None if diagnostic.hint is None else clipped(diagnostic.hint, MAX_MESSAGE),
    }


def _binding(value: Any) -> Any:
    text = written(value, length=MAX_MESSAGE + 1)
    return plain(value) if len(text) <= MAX_MESSAGE else clipped(text, MAX_MESSAGE)


def _related(facts: Iterable[Related]) -> list[RelatedRecord]:
    return [{"text": clipped(fact.text, MAX_MESSAGE), "at": _span(fact.span)} for fact in facts]


def _span(span: Span | None) -> SpanRecord | DataPathRecord | None:
    if span is None:
        return None
    if not span.line:
        return {"file": span.file, "path": span.path}
    return {"file": span.file, "line": span.line, "column": span.column, "end": span.end}
