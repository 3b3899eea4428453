"""Lists of lines in flow style without the elements that cannot be read yet.

An element that cannot be read is in the repaired text a value that is no line: an error, so that nothing that depends
on it gets a shape.  One that does not end on its line ends there, so that the lines below it are read.  Places of
everything else stay as they are.
"""

from __future__ import annotations

import re

from netcalc.spec.plain_yaml import TooManyValuesError, plain_or_line
from netcalc.spec.yaml_nodes import Node

#: Elements that cannot be read, after which the rest of a list is left out.
_MOST_BROKEN = 50
_GAP = re.compile(r"(?:[ \n]|#[^\n]*)*")
_COMMENT = re.compile(r"(?<=\s)#[^\n]*")
_NAME = re.compile(r"(?:^|[\s{,])name:\s*[\"']?([\w.-]+)")
_CLOSING = {"[": "]", "{": "}"}


def repaired_list(text: str, at: int) -> tuple[str, int]:
    """Return a text with a list that can be read, and the place of the first element that it lacks.

    Args:
        text: a key with a list in flow style and nothing behind it, perhaps without its end.
        at: the place behind the bracket that opens the list.
    """
    pieces = [text[:at]]
    first, broken = len(text), 0
    while broken <= _MOST_BROKEN:
        gap = _GAP.match(text, at)
        start = at if gap is None else gap.end()
        pieces.append(_blank(text[at:start]))
        at = start
        if at == len(text) or text[at] == "]":
            break
        end = _end(text, at)
        on_line = text.find("\n", at) if "\n" in text[at:] else len(text)
        if end is not None and _is_element(text[at:end]):
            pieces.append(text[at:end])
        elif end is not None and end <= on_line:
            broken, first = broken + 1, min(first, at)
            pieces.append(_placeholder(text[at:end]).ljust(end - at))
        else:
            alone = _COMMENT.sub("", text[at:on_line]).rstrip()
            if not _is_element(alone):  # else the comma behind it is missing
                alone = _placeholder(text[at : end or on_line])
            broken, first = broken + 1, min(first, at)
            pieces.append(f"{alone},")
            at = on_line
            continue
        at = end + (text[end] == ",")
        pieces.append(text[end:at])
    return "".join([*pieces, "]", _blank(text[at + 1 :])]), first


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _placeholder(element: str) -> str:
    """Return a value that is no line, with the name of an element that cannot be read."""
    name = _NAME.search(element)
    return f"{{name: {name[1]}}}" if name else "0"


def _is_element(text: str) -> bool:
    """Return True if a text reads as one element of a list."""
    try:
        node = plain_or_line(f"[{text}]\n")
    except TooManyValuesError:
        return False
    return isinstance(node, Node) and node.kind == "seq" and len(node.value) == 1


def _end(text: str, at: int) -> int | None:
    """Return the place of the comma or bracket behind an element; None if its own brackets and quotes are not right."""
    opened: list[str] = []
    before = ","
    while at < len(text):
        character = text[at]
        if not opened and character in ",]":
            return at
        if character in "[{":
            opened.append(_CLOSING[character])
        elif character in "]}":
            if not opened or opened.pop() != character:
                return None
        elif character in "\"'" and before in ",:[{":
            at = text.find(character, at + 1)
            if at < 0:
                return None
        elif character == "#" and text[at - 1] in " \n":
            at = text.find("\n", at)
            if at < 0:
                return None
        before = before if character in " \n" else character
        at += 1
    return None
