"""Documents of text with places where lines may be broken, and their printer, as in the formatter of ruff.

A group is printed on one line if what is left of the line has room for it and for the text behind it up to the next
possible break; otherwise its own breaks are taken, and the groups inside it are decided one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

#: Columns of a line, the default of ruff and black.
WIDTH = 88


@dataclass(frozen=True)
class Line:
    """A possible break: ``flat`` is the text on one line, a space or nothing."""

    flat: str


@dataclass(frozen=True)
class Indent:
    """Items whose breaks are indented by four columns; with a group, only if that is broken."""

    items: Doc
    group: int | None = None


@dataclass(frozen=True)
class IfBreaks:
    """Items for a group that is broken, and for one that is not; the enclosing group by default."""

    broken: Doc
    flat: Doc = ()
    group: int | None = None


@dataclass(frozen=True)
class Group:
    """Items that are printed on one line or broken; with a condition, a group only if that group is broken."""

    items: Doc
    number: int | None = None
    condition: int | None = None


@dataclass(frozen=True)
class Expandable:
    """Brackets that may be broken while the group of optional parentheses around them stays on one line."""

    items: Doc
    group: int


Item: TypeAlias = "str | Line | Indent | IfBreaks | Group | Expandable"
Doc: TypeAlias = Sequence[Item]

SOFT, SPACE = Line(""), Line(" ")
numbers = count()


@dataclass(frozen=True)
class _Mode:
    """State of an item: indentation, and True for a group that is broken; ``lines`` measures all lines, not the first.

    Text may be too long where all lines are measured.
    """

    indent: int
    broken: bool
    lines: bool = False


@dataclass
class Printer:
    """Printer of a document; ``indent`` is the indentation of its first line."""

    indent: int
    _column: int = 0
    _broken: dict[int, bool] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)

    def lines(self, items: Doc, behind: str = "") -> list[str]:
        """Return the lines of a document; ``behind`` follows it on the last line."""
        self._text, self._column = [" " * self.indent], self.indent
        start = _Mode(self.indent, broken=True)
        stack: list[tuple[Item, _Mode]] = [(behind, start), *((item, start) for item in reversed(items))]
        while stack:
            item, mode = stack.pop()
            if isinstance(item, str):
                self._text.append(item)
                self._column += len(item)
            elif isinstance(item, Line):
                text = f"\n{' ' * mode.indent}" if mode.broken else item.flat
                self._text.append(text)
                self._column = mode.indent if mode.broken else self._column + len(text)
            else:
                inner, inner_mode = self._opened(item, mode)
                if isinstance(item, Group):
                    inner_mode = self._decided(item, mode, stack)
                stack += [(each, inner_mode) for each in reversed(inner)]
        return [line.rstrip() for line in "".join(self._text).split("\n")]

    def _opened(self, item: Item, mode: _Mode) -> tuple[Doc, _Mode]:
        """Return the items inside an item that has some, and their mode."""
        if isinstance(item, Indent):
            deeper = item.group is None or self._broken[item.group]
            return item.items, _Mode(mode.indent + 4 * deeper, mode.broken, mode.lines)
        if isinstance(item, IfBreaks):
            broken = mode.broken if item.group is None else self._broken[item.group]
            return (item.broken if broken else item.flat), mode
        if isinstance(item, Expandable):
            if not mode.broken and not self._broken[item.group]:
                return item.items, _Mode(mode.indent, broken=True, lines=True)
            return item.items, mode
        assert isinstance(item, Group)
        return item.items, mode

    def _decided(self, group: Group, mode: _Mode, stack: list[tuple[Item, _Mode]]) -> _Mode:
        """Return the mode of a group: broken unless it fits on the line."""
        if group.condition is not None and not self._broken[group.condition]:
            return mode  # no group of its own
        broken = mode.broken and not self._fits(group, mode, stack)
        if group.number is not None:
            self._broken[group.number] = broken
        return _Mode(mode.indent, broken)

    def _fits(self, group: Group, mode: _Mode, rest: list[tuple[Item, _Mode]]) -> bool:
        """Return True if a group has room on one line, with what follows up to the next possible break."""
        if group.number is not None:
            self._broken[group.number] = False
        flat = _Mode(mode.indent, broken=False)
        stack: list[tuple[Item, _Mode]] = [(item, flat) for item in reversed(group.items)]
        behind = len(rest)
        column = self._column
        while True:
            if not stack:
                if behind == 0:
                    return True
                behind -= 1
                stack.append(rest[behind])
            item, its = stack.pop()
            if isinstance(item, str):
                column += len(item)
                if column > WIDTH and not its.lines:
                    return False
            elif isinstance(item, Line):
                if its.broken and not its.lines:
                    return True
                column = its.indent if its.broken else column + len(item.flat)
                if column > WIDTH and not its.lines:
                    return False
            else:
                if isinstance(item, Group) and item.number is not None:
                    self._broken[item.number] = its.broken
                inner, inner_mode = self._opened(item, its)
                stack += [(each, inner_mode) for each in reversed(inner)]
