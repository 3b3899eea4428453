"""The usual form of a text: indents of two, one space where one belongs, and every comment where it was."""

from __future__ import annotations

import re

from netcalc.diagnostics import NetcalcError
from netcalc.spec.yaml_document import parse_yaml, root_node, with_line_feeds
from netcalc.spec.yaml_nodes import Node

_STEP = 2
#: Most empty lines in a row.
_MOST_EMPTY = 1
_PIECES = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|\$\{[^}]*\}|(?:^|(?<=\s))#.*|[\[\]{},]|\s+|[^\s\[\]{},\"'$#]+|."
)


def formatted(text: str) -> str | None:
    """Return a text in the usual form; None if it cannot be read.

    Its data and comments are the same.
    """
    try:
        data = parse_yaml(text, "").data
        root = root_node(text)
    except NetcalcError:
        return None
    lines = with_line_feeds(text).split("\n")
    shape = _Shape(lines)
    shape.block(root, 0)
    result = "\n".join(_without_empty_runs(shape.written())).strip("\n") + "\n"
    try:
        same = parse_yaml(result, "").data == data
    except NetcalcError:
        same = False
    return result if same else None


class _Shape:
    """The lines of a text with the indents that they should have."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.indents: dict[int, int] = {}  # by line, of lines that begin a key or an item
        self.kept: set[int] = set()  # lines inside a text of several lines
        self.depth_in_flow: dict[int, int] = {}  # brackets that are open where a line begins

    def block(self, node: Node, indent: int) -> None:
        """Note the indents of the lines of a value that begins at an indent."""
        first = self.lines[node.start.line][node.start.column : node.start.column + 1] if self._has(node) else ""
        if node.kind == "scalar":
            self.kept.update(range(node.start.line + 1, self._last(node) + 1))
        elif first in ("[", "{"):
            for line in range(node.start.line + 1, node.end.line + 1):
                self.depth_in_flow[line] = 1
            self._flow(node)
        elif node.kind == "map":
            for key, value in node.value:
                self._begin(key.start.line, key.start.column, indent)
                self.block(value, indent + _STEP)
        else:
            for item in node.value:
                self._begin(self._dash(item, node.start.column), node.start.column, indent)
                self.block(item, indent + _STEP)

    def _flow(self, node: Node) -> None:
        """Note the lines of texts inside brackets, which keep their form."""
        if node.kind == "scalar":
            self.kept.update(range(node.start.line + 1, self._last(node) + 1))
            return
        for item in node.value:
            for part in item if isinstance(item, tuple) else (item,):
                self._flow(part)

    def _has(self, node: Node) -> bool:
        return node.start.line < len(self.lines)

    def _last(self, node: Node) -> int:
        """Return the last line of a scalar; the end of a text in block style is where the next token begins."""
        return node.end.line if node.end.column > 0 else node.end.line - 1

    def _begin(self, line: int, column: int, indent: int) -> None:
        if not self.lines[line][:column].strip(" "):  # else it stands behind a dash
            self.indents.setdefault(line, indent)

    def _dash(self, item: Node, column: int) -> int:
        """Return the line of the dash before an item."""
        line = min(item.start.line, len(self.lines) - 1)
        while line > 0 and (self.lines[line][:column].strip(" ") or self.lines[line][column : column + 1] != "-"):
            line -= 1
        return line

    def written(self) -> list[str]:
        """Return the lines with their indents and spaces."""
        shifts = self._shifts()
        result: list[str] = []
        for number, line in enumerate(self.lines):
            text = line.strip(" ")
            indent = max(len(line) - len(line.lstrip(" ")) + shifts[number], 0)
            if not text:
                result.append("")
            elif number in self.kept:
                result.append(" " * indent + line.lstrip(" "))
            else:
                result.append((" " * indent + spaced(text)).rstrip())
        return result

    def _shifts(self) -> list[int]:
        """Return by how much each line moves: as its key or item, a comment as the line after it."""
        shifts: list[int | None] = []
        current = 0
        for number, line in enumerate(self.lines):
            if number in self.indents:
                current = self.indents[number] - (len(line) - len(line.lstrip(" ")))
            is_comment = line.lstrip(" ").startswith("#") and number not in self.kept
            shifts.append(None if is_comment and number not in self.depth_in_flow else current)
        following = 0
        for number in range(len(shifts) - 1, -1, -1):
            shift = shifts[number]
            if shift is None:
                shifts[number] = following
            elif self.lines[number].strip():
                following = shift
        return [shift or 0 for shift in shifts]


def spaced(text: str) -> str:
    """Return a line with one space after its dashes and commas, and none inside its brackets.

    >>> spaced("-   {name:  a , linear: [ 1,2 ]} # x")
    '- {name: a, linear: [1, 2]} # x'
    """
    pieces = _PIECES.findall(text)
    result = ""
    depth = 0
    for number, piece in enumerate(pieces):
        before = pieces[number - 1] if number else ""
        if piece.isspace():
            follow = pieces[number + 1] if number + 1 < len(pieces) else ""
            if follow.startswith("#"):
                result += piece  # comments of several lines may be aligned
            elif depth and (before in "[{" or follow in ("]", "}", ",")):
                continue
            elif depth or result.replace("-", "").strip() == "":
                result += " "
            else:
                result += piece if not before.endswith(":") else " "
            continue
        if before == "," and depth and not piece.startswith("#"):
            result += " "
        depth += (piece in ("[", "{")) - (piece in ("]", "}") and depth > 0)
        result += piece
    return result


def _without_empty_runs(lines: list[str]) -> list[str]:
    result: list[str] = []
    empty = 0
    for line in lines:
        empty = 0 if line else empty + 1
        if empty <= _MOST_EMPTY:
            result.append(line)
    return result
