"""YAML as most specs write it, read many times faster than by a parser of all of YAML.

Block and flow collections, plain and quoted scalars on one line, and comments are read here.  For a text with anything
else, or with an error, the answer is None, and ruamel's parser reads it and reports what is wrong.
"""

from __future__ import annotations

import re

from netcalc.limits import MAX_TEXT, MAX_VALUES
from netcalc.spec.yaml_nodes import TAG, Mark, Node

#: Deepest nesting that is read here.
_DEPTH = 40
#: Longest key, which YAML limits to 1,024 characters.
_KEY = 1000
_SPACE = re.compile(r" *+")
_COMMENT = re.compile(r"[^\n]*+")
#: Markers of documents, and directives.
_MARKERS = re.compile(r"^(?:---|\.\.\.|%)", re.MULTILINE)
# neither ends a plain scalar: a colon without a space behind it, a hash sign without one before it
_PLAIN = re.compile(r"[^\n#:]*+(?:(?::(?=[^ \n\0])|(?<=[^ ])\#)[^\n#:]*+)*+")
_FLOW_PLAIN = re.compile(r"[^\n,\[\]{}#:]*+")
_DOUBLE = re.compile(r'"([^"\\\n]*+)"')
_SINGLE = re.compile(r"'([^'\n]*+(?:''[^'\n]*+)*+)'")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*+)")
_FLOAT = re.compile(r"[-+]?[0-9]++(?:\.[0-9]*+(?:[eE][-+]?[0-9]++)?|[eE][-+]?[0-9]++)")
#: Characters of numbers of all forms, of infinity and of NaN; or the beginning of a time.
_NUMERIC = re.compile(r"[-+0-9_.:a-fA-FxXoOiInN]*+\Z|[0-9]{4}-")
#: Header of a text on the lines below, which is folded or kept, with or without the last line break.
_HEADER = re.compile(r"([>|])(-?)\n")
#: First characters of a plain scalar that is read here; a minus sign has no space behind it.
_FIRST = re.compile(r"[A-Za-z0-9_$./()+^;\\\u00a1-\uffff]|-(?=[^ \n])")
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), TAG + "bool"),
    **dict.fromkeys(("null", "Null", "NULL"), TAG + "null"),
}


class TooManyValuesError(Exception):
    """Raised at the item in flow style that exceeds the limit on values, which ruamel would find much later."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(mark)
        self.mark = mark


class _NotPlain(Exception):  # noqa: N818 - no error, but a text that is left to ruamel
    """Raised where a text uses YAML that this module does not read."""


def plain_document(text: str) -> Node | None:
    """Return the root node of a text without carriage returns; None if it is empty or not plain.

    Raises:
        TooManyValuesError: a list or mapping in flow style exceeds the limit on values.
    """
    found = plain_or_line(text)
    return None if isinstance(found, int) else found


def plain_or_line(text: str) -> Node | int:
    """Return what :func:`plain_document` does, or for a text that is not plain the line, from 0, where reading ended.

    That is 0 for a text that is refused as a whole.
    """
    if "\t" in text or not text.replace("\n", "").isprintable() or _MARKERS.search(text):
        return 0
    reader = _Reader(text)
    try:
        return reader.document()
    except _NotPlain:
        return reader.line


class _Reader:
    """The position in a text, and the nodes that begin there."""

    def __init__(self, text: str) -> None:
        self.text = text + "\0"
        self.at = 0
        self.line = 0
        self.start = 0  # of the line
        self.left = int(MAX_VALUES)

    def document(self) -> Node:
        """Return the root node."""
        self.skip()
        root = self.block(-1, 0)
        if self.text[self.at] != "\0":
            raise _NotPlain
        return root

    def mark(self) -> Mark:
        """Return the current position."""
        return Mark(self.line, self.at - self.start)

    def skip(self) -> None:
        """Move to the next character that is no space, line break or part of a comment."""
        text, at = self.text, self.at
        while True:
            if text[at] == " ":
                at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
            if text[at] == "#":
                if at > self.start and text[at - 1] != " ":
                    raise _NotPlain
                at = min(_COMMENT.match(text, at).end(), len(text) - 1)  # type: ignore[union-attr]
            if text[at] != "\n":
                self.at = at
                return
            at += 1
            self.line += 1
            self.start = at

    # -- block style --------------------------------------------------------------------------------

    def block(self, indent: int, depth: int, *, at_indent: bool = False) -> Node:
        """Return the node that begins here, inside of a collection that is indented by ``indent``.

        ``at_indent`` allows a list with the indentation of the mapping that it is a value of.
        """
        self.count(depth)
        start = self.mark()
        if self.is_entry():
            return self.entries(start, indent if at_indent and start.column == indent else None, depth)
        if start.column <= indent:
            raise _NotPlain
        first = self.inline(depth)
        if self.is_colon():
            return self.pairs(start, first, depth)
        self.end_of_line(first.end.line)
        return first

    def is_entry(self) -> bool:
        """Return True at the dash of an item."""
        return self.text[self.at] == "-" and self.text[self.at + 1] in " \n\0"

    def is_colon(self) -> bool:
        """Return True at the colon after a key."""
        return self.text[self.at] == ":" and self.text[self.at + 1] in " \n\0"

    def end_of_line(self, line: int) -> None:
        """Skip to the next token, which must be on another line than ``line``."""
        self.skip()
        if self.line == line and self.text[self.at] != "\0":
            raise _NotPlain

    def entries(self, start: Mark, shared: int | None, depth: int) -> Node:
        """Return a list in block style; ``shared`` is the indentation if the mapping around it has the same."""
        items = []
        while self.is_entry() and self.at - self.start == start.column:
            line = self.line
            self.at += 1
            behind = self.mark()
            self.skip()
            if self.line == line and self.text[self.at] != "\0":
                items.append(self.block(start.column, depth + 1))
            else:
                items.append(self.below(start.column, behind, depth))
        column = self.at - self.start
        if self.text[self.at] != "\0" and column >= start.column and column != shared:
            raise _NotPlain
        return Node("seq", TAG + "seq", items, start, self.mark())

    def pairs(self, start: Mark, key: Node, depth: int) -> Node:
        """Return a mapping in block style, from the colon after its first key on."""
        pairs = []
        while True:
            if key.kind != "scalar" or key.start.line != self.line or key.end.column - key.start.column > _KEY:
                raise _NotPlain
            self.at += 1
            behind = self.mark()
            self.skip()
            if self.line == behind.line and self.text[self.at] != "\0":
                self.count(depth + 1)
                value = self.beside(start.column, depth + 1)
            else:
                value = self.below(start.column, behind, depth, at_indent=True)
            pairs.append((key, value))
            if self.text[self.at] == "\0" or self.at - self.start < start.column:
                return Node("map", TAG + "map", pairs, start, self.mark())
            if self.at - self.start > start.column or self.is_entry():
                raise _NotPlain
            key = self.inline(depth)
            if not self.is_colon():
                raise _NotPlain

    def beside(self, indent: int, depth: int) -> Node:
        """Return the value behind a key on its line."""
        if self.is_entry():
            raise _NotPlain
        if self.text[self.at] in ">|":
            return self.paragraph(indent)
        value = self.inline(depth)
        self.end_of_line(value.end.line)
        return value

    def paragraph(self, indent: int) -> Node:
        """Return a text without empty lines, whose first line has the least indentation, and all do if it is folded."""
        start, header = self.mark(), _HEADER.match(self.text, self.at)
        if header is None:
            raise _NotPlain
        at, lines, margin = header.end(), list[str](), 0
        while True:
            end = self.text.find("\n", at)
            line = self.text[at:end]
            own = len(line) - len(line.lstrip(" "))
            margin = margin or own
            if end < 0 or own == len(line) or own <= indent:
                break
            if own < margin or (own > margin and header[1] == ">") or line[-1] == " ":
                raise _NotPlain
            lines.append(line[margin:])
            at = end + 1
        self.line, self.at, self.start = self.line + 1 + len(lines), at, at
        self.skip()
        if not lines or self.at - self.start > indent or self.line == start.line:
            raise _NotPlain
        folded = (" " if header[1] == ">" else "\n").join(lines) + ("" if header[2] else "\n")
        if len(folded) > MAX_TEXT // 2:
            raise _NotPlain
        # it ends where the next line with a text or comment begins
        return Node(
            "scalar", TAG + "str", folded, start, Mark(self.after_blanks(at, start.line + 1 + len(lines), indent), 0)
        )

    def after_blanks(self, at: int, line: int, indent: int) -> int:
        """Return the first line from an index on that is not blank, and not a part of the text above it."""
        while True:
            behind = _SPACE.match(self.text, at).end()  # type: ignore[union-attr]
            if self.text[behind] != "\n":
                if behind - at > indent and self.text[behind] != "\0":
                    raise _NotPlain
                return line
            at, line = behind + 1, line + 1

    def below(self, indent: int, behind: Mark, depth: int, *, at_indent: bool = False) -> Node:
        """Return the node on the lines below a key or dash that ends at ``behind``; null if there is none."""
        column = self.at - self.start
        if self.text[self.at] != "\0" and (column > indent or (at_indent and column == indent and self.is_entry())):
            return self.block(indent, depth + 1, at_indent=at_indent)
        self.count(depth)
        place = self.mark() if at_indent else behind  # as ruamel has it
        return Node("scalar", TAG + "null", "", place, place)

    # -- what is on one line ------------------------------------------------------------------------

    def count(self, depth: int) -> None:
        """Count a value."""
        self.left -= 1
        if self.left < 0 or depth > _DEPTH:
            raise _NotPlain

    def inline(self, depth: int) -> Node:
        """Return a scalar or a flow collection, with spaces behind it skipped."""
        first = self.text[self.at]
        if first in "[{":
            return self.flow(depth)
        if first in "\"'":
            return self.quoted()
        return self.plain(_PLAIN)

    def quoted(self) -> Node:
        """Return a scalar in quotes without escapes."""
        double = self.text[self.at] == '"'
        match = (_DOUBLE if double else _SINGLE).match(self.text, self.at)
        if match is None:
            raise _NotPlain
        return self.scalar(match[1] if double else match[1].replace("''", "'"), TAG + "str", match.end())

    def plain(self, pattern: re.Pattern[str]) -> Node:
        """Return a plain scalar."""
        match = pattern.match(self.text, self.at)
        if match is None or _FIRST.match(self.text, self.at) is None:
            raise _NotPlain
        text = match[0].rstrip(" \0")
        return self.scalar(text, _plain_tag(text), self.at + len(text))

    def scalar(self, text: str, tag: str, end: int) -> Node:
        """Return a scalar that ends at an index."""
        if len(text) > MAX_TEXT // 2:
            raise _NotPlain
        start = self.mark()
        self.at = end
        node = Node("scalar", tag, text, start, self.mark())
        self.at = _SPACE.match(self.text, end).end()  # type: ignore[union-attr]
        if self.text[self.at] == "#" and self.at == end:
            raise _NotPlain
        return node

    # -- flow style ---------------------------------------------------------------------------------

    def flow(self, depth: int) -> Node:
        """Return a list or mapping in flow style."""
        start, is_map = self.mark(), self.text[self.at] == "{"
        closing = "}" if is_map else "]"
        self.at += 1
        values: list[object] = []
        while True:
            self.skip()
            if self.text[self.at] == closing:
                break
            item = self.flow_item(depth + 1)
            if is_map:
                values.append((item, self.flow_value(item, depth + 1)))
            else:
                values.append(self.flow_pair(item, depth + 1) if self.is_colon() else item)
            self.skip()
            if self.text[self.at] == ",":
                self.at += 1
            elif self.text[self.at] != closing:
                raise _NotPlain
        self.at += 1
        node = Node("map" if is_map else "seq", TAG + ("map" if is_map else "seq"), values, start, self.mark())
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return node

    def flow_item(self, depth: int) -> Node:
        if not self.left:
            raise TooManyValuesError(self.mark())
        self.count(depth)
        first = self.text[self.at]
        if first in "[{":
            return self.flow(depth)
        return self.quoted() if first in "\"'" else self.plain(_FLOW_PLAIN)

    def flow_pair(self, key: Node, depth: int) -> Node:
        """Return the mapping of one pair that is an item of a list, without brackets of its own."""
        self.count(depth)
        pair = (key, self.flow_value(key, depth + 1))
        self.skip()  # it ends where the next sign begins
        return Node("map", TAG + "map", [pair], key.start, self.mark())

    def flow_value(self, key: Node, depth: int) -> Node:
        """Return the value of a key in flow style."""
        if key.kind != "scalar" or not self.is_colon() or key.end.column - key.start.column > _KEY:
            raise _NotPlain
        self.left += 1  # a key is no value
        self.at += 1
        self.skip()
        if self.text[self.at] in ",}]\0":
            raise _NotPlain
        return self.flow_item(depth)


def _plain_tag(text: str) -> str:
    """Return the tag of a plain scalar by its text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        if _INT.fullmatch(text):
            return TAG + "int"
        if _FLOAT.fullmatch(text):
            return TAG + "float"
        if _NUMERIC.match(text):
            raise _NotPlain
    return TAG + "str"
