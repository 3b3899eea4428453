"""Texts without what cannot be read yet, so that the lines before it keep their shapes while one is typed.

A list item that cannot be read is a line without an operation in the repaired text: an error, so that nothing that
depends on it gets a shape.  Places of everything else stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from netcalc.language.flow_repair import repaired_list
from netcalc.language.mending import NAMED, UNRELATED

_LINES = frozenset(("layers", "blocks"))
_KEY = re.compile(r"[\"']?(\w+)[\"']?\s*:(?:\s|$)|[\"']?(\w+)[\"']?\s*$")
_NAME = re.compile(r"(?:^|[\s{,])name:\s*[\"']?([\w.-]+)")
_EXTENDS = re.compile(r"^[\"']?(?:extends|import)[\"']?\s*:", re.MULTILINE)
#: Lines in flow style, which may begin below their key.
_LIST = re.compile(r"( *)(?:- )?layers: *(?:#[^\n]*)?\n? *\[")
#: Characters of a list in flow style that is repaired.
_LONGEST = 100_000
#: Parts that are left out one by one, the smallest first.
_MOST_TRIED = 6


def repaired_texts(text: str, line: int) -> Iterator[tuple[str, int]]:
    """Yield texts that may be readable, and the line (from 0) before which they are as the whole text is.

    Args:
        text: the text, whose line breaks are line feeds.
        line: the number of the line, from 0, at which reading failed.
    """
    lines = text.split("\n")
    tried: set[tuple[int, int, str]] = set()
    for near in _near(lines, line):
        yield from _without_elements(lines, near)
        for start, end, placeholder in _parts(lines, near, text):
            if (start, end, placeholder) in tried:
                continue
            if len(tried) >= _MOST_TRIED:
                return
            tried.add((start, end, placeholder))
            blank = [""] * (end - start)
            if placeholder:
                blank[0] = placeholder
            yield "\n".join([*lines[:start], *blank, *lines[end:]]), start


def _without_elements(lines: list[str], line: int) -> Iterator[tuple[str, int]]:
    """Yield a text with a list of lines in flow style that can be read, around or before a line."""
    top = next((number for number in range(line, -1, -1) if _begins_entry(lines[number])), 0)
    begins = ((number, _LIST.match("\n".join(lines[number : number + 2]))) for number in range(line, top - 1, -1))
    number, found = next(((number, found) for number, found in begins if found is not None), (0, None))
    if found is None:
        return
    end = _end(lines, number, len(found[1]))
    if end < len(lines) and lines[end].lstrip()[:1] == "]":
        end += 1
    text = "\n".join(lines[number:end])
    if len(text) > _LONGEST:
        return
    repaired, broken = repaired_list(text, found.end())
    if repaired != text:
        first = number + text.count("\n", 0, broken)
        yield "\n".join([*lines[:number], repaired, *lines[end:]]), first


def _near(lines: list[str], line: int) -> Iterator[int]:
    """Yield the line of an error and the one before it that has text."""
    line = min(line, len(lines) - 1)
    while line > 0 and not lines[line].strip():
        line -= 1
    yield line
    yield next((number for number in range(line - 1, -1, -1) if _has_text(lines[number])), line)


def _has_text(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_item(line: str) -> bool:
    return line.lstrip(" ").startswith("- ") or line.strip() == "-"


def _parts(lines: list[str], line: int, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the first and last line of parts around a line that may be left out, and what stands in their place."""
    top = next((number for number in range(line, -1, -1) if _begins_entry(lines[number])), None)
    if top is None:
        return
    found = _KEY.match(lines[top])
    key = "" if found is None else found[1] or found[2]
    end = _end(lines, top, 0)
    if key in _LINES:
        for start in _items(lines, top, line):
            name = _NAME.search("\n".join(lines[start : _end(lines, start, _indent(lines[start]))]))
            named = f"{{name: {name[1]}}}" if name else "null"
            yield start, _end(lines, start, _indent(lines[start])), " " * _indent(lines[start]) + f"- {named}"
        before = next((n for n in range(line - 1, top, -1) if _is_item(lines[n])), None)
        if before is not None:  # a line with another indent than the items before it
            yield line, line + 1, " " * _indent(lines[before]) + "- null"
    elif key in NAMED and not _EXTENDS.search(text) and line > top:
        least = min((_indent(item) for item in lines[top + 1 : end] if _has_text(item)), default=0)
        entries = (n for n in range(line, top, -1) if _has_text(lines[n]) and _indent(lines[n]) == least)
        if least and (entry := next(entries, None)) is not None:
            yield entry, _end(lines, entry, least), ""
    elif key in UNRELATED or found is None or (line == top and found[2] and not _EXTENDS.search(text)):
        yield top, end, ""


def _begins_entry(line: str) -> bool:
    return bool(line) and line[0] not in " #-]}"


def _items(lines: list[str], top: int, line: int) -> Iterator[int]:
    """Yield the lines where list items around a line begin, the innermost first."""
    indent: int | None = None
    for number in range(line, top, -1):
        text = lines[number]
        if not _has_text(text):
            continue
        here, is_item = _indent(text), _is_item(text)
        if is_item and (indent is None or here < indent):
            yield number
            indent = here
        elif indent is None and number == line and not is_item:
            indent = here + 1  # an item around it begins further left
        elif indent is not None and here < indent and not is_item:
            indent = min(indent, here + 1)


def _end(lines: list[str], start: int, indent: int) -> int:
    """Return the line after an entry that begins at ``start`` with this indent."""
    for number in range(start + 1, len(lines)):
        if _has_text(lines[number]) and _indent(lines[number]) <= indent:
            is_item_of_key = indent == 0 and lines[number].startswith("-") and not lines[start].startswith("-")
            if not is_item_of_key:
                return number
    return len(lines)
