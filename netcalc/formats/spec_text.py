"""Spec documents as YAML text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

#: Characters in a line, where its content can be broken.
_WIDTH = 118

#: Keys of lists of lines, each of which has a line of its own.
_LINES = {"layers", "sequence"}

#: Text that YAML reads as text without quotes, also within brackets.
_PLAIN = re.compile(r"[A-Za-z_/](?:[\w./*+()-]|[ ](?=[\w(/*+-]))*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def spec_text(document: Mapping[str, Any]) -> str:
    """Return plain data as YAML: an entry on a line where it fits, and of a longer one each entry on a line."""
    return "".join(f"{line}\n" for line in _entries(document, ""))


def _entries(data: Mapping[str, Any], margin: str) -> Iterator[str]:
    """Yield the lines of a mapping, each with its margin."""
    for key, value in data.items():
        head = f"{margin}{_scalar(key)}:"
        written = f"{head} {_flow(value)}"
        if len(written) <= _WIDTH and not _has_lines(key, value):
            yield written
        elif isinstance(value, Mapping) and value:
            yield head
            yield from _entries(value, margin + "  ")
        elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
            yield head
            yield from _items(value, margin + "  ")
        else:
            yield from _wrapped_lines(head, value, margin + "  ")


def _items(data: list[Any], margin: str) -> Iterator[str]:
    """Yield the lines of a list, each item on one if it fits."""
    for item in data:
        written = f"{margin}- {_flow(item)}"
        if len(written) <= _WIDTH and not _contains_lines(item):
            yield written
        elif isinstance(item, Mapping) and item:
            first, *rest = _entries(item, margin + "  ")
            yield f"{margin}- {first.lstrip()}"
            yield from rest
        else:
            yield from _wrapped_lines(f"{margin}-", item, margin + "  ")


def _wrapped_lines(head: str, value: Any, margin: str) -> Iterator[str]:
    """Yield a long text or list of single values, in lines behind its key."""
    room = max(_WIDTH - len(margin), 40)
    if isinstance(value, list):
        written = _flow(value)
        if '"' in written:  # a break within quotes would be part of the text
            yield f"{head} {written}"
        else:
            yield from textwrap.wrap(written, _WIDTH, initial_indent=f"{head} ", subsequent_indent=margin)
    elif isinstance(value, str) and value.isprintable() and " " in value.strip() == value and "  " not in value:
        yield f"{head} >-"
        wrapped = textwrap.wrap(value, room, break_long_words=False, break_on_hyphens=False)
        yield from (margin + line for line in wrapped)
    else:
        yield f"{head} {_flow(value)}"


def _has_lines(key: object, value: Any) -> bool:
    """Return True for a list of lines of a spec, or for data with one in it."""
    listed = isinstance(value, list) and bool(value) and key in _LINES
    return listed or _is_branch(value) or _contains_lines(value)


def _contains_lines(value: Any) -> bool:
    """Return True for data with lists of lines in it: of a sequence, a block, or the branches of an operation."""
    if isinstance(value, Mapping):
        return any(_has_lines(key, inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_contains_lines, value))


def _is_branch(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and any(isinstance(item, Mapping) for item in value)


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _number(value)
    if not isinstance(value, str):
        return str(value)
    plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
    return value if plain else _quoted(value)


def _quoted(text: str) -> str:
    """Return text in double quotes, with escapes for what YAML forbids or a terminal would not show."""
    shown = ("\\" + c if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return '"' + "".join(shown) + '"'


def _number(value: float) -> str:
    """Return a number as YAML reads it: with a point, or .inf and .nan."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[str(value)]
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}" if exponent else mantissa
