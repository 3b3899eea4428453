"""Pages of error codes as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from netcalc.diagnostics import CODES
from netcalc.reference.codes import CodeReference
from netcalc.render.text import Terminal, fill

_FENCED = re.compile(r"^```(?:\S*)(?: file=(\S+))?.*\n((?:.*\n)*?)```$", re.MULTILINE)


def code_text(page: CodeReference, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of a page: code and title, meaning, causes, example and fix."""
    yield terminal.styled(f"{page.code}: {page.title}", "bold")
    yield ""
    yield fill(page.about, terminal.width)
    yield ""
    yield terminal.styled("causes", "bold")
    for cause in page.causes:
        yield fill(cause, terminal.width, "  - ", "    ")
    for title, text in (("example", page.example), ("fix", page.fix)):
        yield ""
        yield terminal.styled(title, "bold")
        yield from _body(text + "\n", terminal)


def codes_text(terminal: Terminal) -> Iterator[str]:
    """Yield a line for each code."""
    for code, title in CODES.items():
        yield fill(f"{terminal.styled(code, 'name')}  {title}", terminal.width, "", "      ")


def _body(text: str, terminal: Terminal) -> Iterator[str]:
    """Yield paragraphs and fenced blocks, separated by empty lines; a file has its name above."""
    end = 0
    parts: list[list[str]] = []
    for match in _FENCED.finditer(text):
        parts += _paragraphs(text[end : match.start()], terminal)
        named = [f"  {match[1]}:"] if match[1] else []
        indent = "    " if match[1] else "  "
        parts.append([*named, *(f"{indent}{line}".rstrip() for line in match[2].splitlines())])
        end = match.end()
    parts += _paragraphs(text[end:], terminal)
    for number, lines in enumerate(parts):
        if number:
            yield ""
        yield from lines


def _paragraphs(text: str, terminal: Terminal) -> list[list[str]]:
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return [[fill(part, terminal.width, "  ")] for part in plain.split("\n\n") if part.strip()]
