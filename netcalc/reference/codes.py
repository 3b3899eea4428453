"""The pages of error codes and warnings: meaning, causes, an example and its remedy, from ``docs/errors/``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from netcalc.diagnostics import CODES, Diagnostic, NetcalcError, did_you_mean
from netcalc.results import recorded


@recorded(name="code")
class CodeReference(NamedTuple):
    """The page of an error code or of a warning."""

    code: str
    title: str
    about: str
    """Meaning of the code."""
    causes: tuple[str, ...]
    example: str
    """Markdown: a spec or command, and what netcalc prints."""
    fix: str
    """Markdown: the remedy, with the corrected example."""


@cache
def codes_dir() -> Path:
    """Return the folder of the pages, one for each code."""
    package = Path(__file__).parent.parent
    inside = package / "errors"
    return inside if inside.is_dir() else package.parent / "docs" / "errors"


def code_page(code: str) -> str:
    """Return the page of a code in Markdown; NetcalcError (E502) if there is no such code."""
    name = code.upper()
    if name not in CODES:
        hint = did_you_mean(name, CODES) or "`netcalc help` lists commands and codes"
        raise NetcalcError(Diagnostic("E502", f"there is no code {code!r}", hint=hint))
    return (codes_dir() / f"{name}.md").read_text(encoding="utf-8")


def code_reference(code: str) -> CodeReference:
    """Return what the page of a code says; NetcalcError (E502) if there is no such code."""
    head, causes, example, fix = re.split(r"^## (?:Causes|Example|Fix)\n\n", code_page(code), flags=re.MULTILINE)
    _, _, about = head.partition("\n\n")
    items = causes.strip().removeprefix("- ").split("\n- ")
    name = code.upper()
    return CodeReference(
        name, CODES[name], _one_line(about), tuple(map(_one_line, items)), example.strip(), fix.strip()
    )


def _one_line(text: str) -> str:
    """Return a paragraph as one line, with the text of its links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
