"""Record of the page of an error code."""

from __future__ import annotations

from typing_extensions import TypedDict

from netcalc.records import schema_id
from netcalc.reference.codes import CodeReference

__all__ = ["CodeRecord", "code_record"]


class CodeRecord(TypedDict):
    """The page of an error code or of a warning."""

    schema: str
    code: str
    title: str
    about: str
    """Meaning of the code."""
    causes: list[str]
    example: str
    """Markdown: a spec or command, and what netcalc prints."""
    fix: str
    """Markdown: the remedy, with the corrected example."""


def code_record(page: CodeReference) -> CodeRecord:
    """Return the record of the page of a code."""
    return {
        "schema": schema_id("code"),
        "code": page.code,
        "title": page.title,
        "about": page.about,
        "causes": list(page.causes),
        "example": page.example,
        "fix": page.fix,
    }
