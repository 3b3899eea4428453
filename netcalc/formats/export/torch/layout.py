"""Lines of code of at most 88 columns, broken as ``ruff format`` breaks them."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Columns of a line, the default of ruff and black.
WIDTH = 88
_OPENING, _CLOSING = "([{", ")]}"


def laid_out(statement: str, indent: int, comma: str = "") -> list[str]:
    """Return the lines of one statement, which is written on one line, at an indentation of so many columns.

    ``comma`` is what follows it on the last line.
    """
    margin = " " * indent
    if indent + len(statement) + len(comma) <= WIDTH:
        return [margin + statement + comma]
    keyword, _, rest = statement.partition(" ")
    if keyword == "return" and (len(split_at(rest, ",")) > 1 or _is_sum(rest)) and not rest.startswith("("):
        return laid_out(f"return ({rest})", indent)
    target, equals, value = statement.partition(" = ")
    if equals and _is_sum(value) and not statement.startswith("def "):
        return [f"{margin}{target} = (", *_body(value, indent + 4, grouping=True), f"{margin})"]
    name, equals, value = statement.partition("=")
    if not (equals and name.isidentifier() and not value.startswith("=")):
        name, value = "", statement
    terms = _terms(value)
    if len(terms) > 1 and not statement.startswith(("def ", "return ", "self.")) and " = " not in statement:
        lines = [line for term in terms for line in laid_out(term, indent)]
        lines[0] = f"{margin}{name}{'=' if name else ''}{lines[0].lstrip()}"
        return [*lines[:-1], lines[-1] + comma]
    pair = _last_pair(statement)
    if pair is None:
        return [margin + statement + comma]
    start, end = pair
    head, body, tail = statement[: start + 1], statement[start + 1 : end], statement[end:]
    before = head[-2:-1]
    grouping = head.endswith("(") and not (before.isalnum() or before in ("_", ")", "]"))
    return [margin + head, *_body(body, indent + 4, grouping=grouping), margin + tail + comma]


def _is_sum(text: str) -> bool:
    """Return True for operands that are broken at their operators rather than in the brackets of the last one."""
    terms = _terms(text)
    return len(terms) > 2 or (len(terms) == 2 and text[-1] not in _CLOSING)


def _body(body: str, indent: int, *, grouping: bool = False) -> list[str]:
    """Return the lines between two brackets; with a comma behind each item unless they group one expression."""
    margin = " " * indent
    if indent + len(body) <= WIDTH and not body.endswith(","):
        return [margin + body]
    items = split_at(body, ",")
    if len(items) == 1:
        clauses = _clauses(body)
        if len(clauses) > 1:
            return [line for clause in clauses for line in laid_out(clause, indent)]
        if len(_terms(body)) > 1:
            return laid_out(body, indent)
        if grouping:
            return laid_out(body, indent)
    return [line for item in items for line in laid_out(item, indent, ",")]


def _last_pair(text: str) -> tuple[int, int] | None:
    """Return the places of the last bracket and of its partner, behind which no other bracket is opened."""
    if not text or text.rstrip(":")[-1] not in _CLOSING:
        arrow = text.rfind(") -> ")
        if arrow < 0:
            return None
        end = arrow
    else:
        end = len(text.rstrip(":")) - 1
        arrow = text.rfind(") -> ")
        if text.startswith("def ") and arrow >= 0:
            end = arrow
    opened: list[int] = []
    for place, character in _structure(text):
        if character in _OPENING:
            opened.append(place)
        elif character in _CLOSING:
            start = opened.pop()
            if place == end:
                return start, end
    return None


def _structure(text: str) -> Iterator[tuple[int, str]]:
    """Yield places and characters outside strings."""
    quote = ""
    for place, character in enumerate(text):
        if quote:
            if character == quote and text[place - 1] != "\\":
                quote = ""
        elif character in "\"'":
            quote = character
        else:
            yield place, character


def split_at(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators that are in no brackets and no strings."""
    parts: list[str] = []
    depth = start = 0
    for place, character in _structure(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0 and character == separator[0] and text.startswith(separator, place) and place >= start:
            parts.append(text[start:place].strip())
            start = place + len(separator)
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _clauses(text: str) -> list[str]:
    """Return the element of a comprehension and its clauses; the text itself if it is none."""
    element, *clauses = split_at(text, " for ")
    return [element, *(f"for {clause}" for clause in clauses)]


def _terms(text: str) -> list[str]:
    """Return the terms of a sum, of a product or of conditions, each behind the first with its operator."""
    for operators in ((" or ",), (" and ",), (" | ",), (" & ",), (" + ", " - "), (" * ", " / ", " // ", " @ ")):
        terms: list[str] = []
        depth = start = 0
        for place, character in _structure(text):
            depth += (character in _OPENING) - (character in _CLOSING)
            if depth == 0 and any(text.startswith(operator, place) for operator in operators):
                terms.append(text[start:place].strip())
                start = place
        if terms:
            return [*terms, text[start:].strip()]
    return [text]


def spaced(text: str) -> str:
    """Return an expression with spaces around the colons of ranges whose ends are more than names and numbers."""
    return re.sub(
        r"\[([^\[\]]*:[^\[\]]*)\]", lambda match: f"[{', '.join(map(_range, split_at(match[1], ',')))}]", text
    )


def _range(part: str) -> str:
    ends = split_at(f"{part} ", ":") if ":" in part else [part]
    ends = [end.strip() for end in part.split(":")] if part.count(":") == len(ends) - 1 or part.endswith(":") else ends
    if len(ends) < 2 or all(end.lstrip("-").replace("_", "a").isalnum() or not end for end in ends):
        return part
    first, *others = ends
    return (f"{first} :" if first else ":") + " :".join(f" {end}" if end else "" for end in others)
