"""Rows of reports by module: all calls of a module are one row, with their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from netcalc.analysis.figures import Cost
from netcalc.analysis.rows import Row
from netcalc.diagnostics import NetcalcError
from netcalc.ir import CallNode

#: The parts of a path, each with the text that a title has in its place, where a part may be several numbers.
_Path: TypeAlias = tuple[tuple[str, str], ...]


def by_module(rows: Sequence[Row], unrolled: Callable[[], Sequence[Row]]) -> tuple[Row, ...]:
    """Return the rows of a tree with all calls of a module as one row.

    A line that is a further call of a module counts where the first one is, and iterations that share their weights
    are calls of one module.

    Args:
        rows: the rows by the paths of lines.
        unrolled: returns them with every instance on its own, which is needed where one of several that are one row
            is called again.
    """
    if not any(map(_has_further_calls, every_row(rows))):
        return tuple(rows)
    root = _Part()
    root.add(rows, _Around())
    if root.cuts_a_row():
        try:
            instances = unrolled()
        except NetcalcError:  # too many: the instance that is called again stays beside the row of all
            return root.rows(())
        root = _Part()
        root.add(instances, _Around())
    return root.rows(())


def every_row(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a tree, each before those in it."""
    for row in rows:
        yield row
        yield from every_row(row.children)


def _has_further_calls(row: Row) -> bool:
    """Return True for a row that is a further call of a module, or that has several calls of one as its children."""
    several = row.numbers is None and row.repeat > 1
    return bool(row.module) or several or sum(child.path == row.path for child in row.children) > 1


class _Around(NamedTuple):
    """The rows around a level of the tree.

    Attributes:
        path: the path of the module that they belong to.
        depth: number of parts of their own path.
        body: the path of the body around, from which the paths of modules start.
        calls: number of calls of the module, for one instance of it.
        instances: number of the instances that are one row.
    """

    path: _Path = ()
    depth: int = 0
    body: _Path = ()
    calls: int = 1
    instances: int = 1

    def inside(self, row: Row) -> _Around:
        """Return what is around the children of a row; its ``calls`` are also those of the row."""
        parts = tuple(zip(row.path.split("."), row.title.split("."), strict=True))
        path, calls, instances = (*self.path, *parts[self.depth :]), self.calls, self.instances
        if row.module:
            target = tuple((part, part) for part in row.module.removeprefix("/").split("."))
            path = target if row.module.startswith("/") else (*self.body, *target)
        if row.module.startswith("/"):
            calls, instances = calls * instances, 1
        if row.numbers is None:
            calls *= row.repeat
        else:
            instances *= row.repeat
        body = path if isinstance(row.node, CallNode) else self.body
        return _Around(path, len(parts), body, calls, instances)


class _Part:
    """A part of the network: a module, or lines under one name.

    Attributes:
        first: the row of its first call, or of the lines under its name.
        calls: number of its calls; 0 if it is only the beginning of the names of others.
        own: its operations that have its own path, with the number of executions of each.
        parts: the parts in it, by name and title.
    """

    def __init__(self) -> None:
        self.first: Row | None = None
        self.calls = 0
        self.own: list[tuple[Row, int]] = []
        self.parts: dict[tuple[str, str], _Part] = {}

    def add(self, rows: Iterable[Row], around: _Around) -> None:
        """Add the rows of one level at the modules that they belong to."""
        for row in rows:
            inside = around.inside(row)
            part = self
            for step in inside.path:
                part = part.parts.setdefault(step, _Part())
            if part.first is None or (part.first.node is None and row.children):
                part.first = row
            if row.node is not None or all(child.path != row.path for child in row.children):
                part.calls += inside.calls
            if not row.children:
                part.own.append((row, inside.calls))
            self.add(row.children, inside)

    def cuts_a_row(self) -> bool:
        """Return True if a part is one of the instances that the row of another part stands for."""
        for (name, _), part in self.parts.items():
            numbers = None if part.first is None else part.first.numbers
            if numbers is None or numbers.size == 1:
                continue
            stem = name.removesuffix(str(numbers.first))
            others = [other.removeprefix(stem) for other, title in self.parts if other == title]
            if any(other.isdecimal() and int(other) in numbers for other in others):
                return True
        return any(part.cuts_a_row() for part in self.parts.values())

    def rows(self, path: _Path) -> tuple[Row, ...]:
        """Return the rows of the parts, in order of their first calls."""
        return tuple(row for step, part in self.parts.items() for row in part.row((*path, step)))

    def row(self, path: _Path) -> Iterator[Row]:
        """Yield the row of a part, unless all lines under its name belong to others."""
        children = self.rows(path)
        if self.first is None or not (children or self.own):
            yield from ()
            return
        row = self._row(path, self.first)
        if self.own:
            leaf = self._row(path, self.own[0][0])._replace(compute_cost=cache(partial(_executed, self.own)))
            if not children:
                yield leaf
                return
            children = (leaf, *children)
        yield row._replace(compute_cost=cache(partial(_sum, children)), children=children)

    def _row(self, path: _Path, first: Row) -> Row:
        name, title = (".".join(texts) for texts in zip(*path, strict=True))
        repeat = 1 if first.numbers is None else first.repeat
        ranges = () if first.module else first.ranges
        return first._replace(path=name, title=title, repeat=repeat, module="", ranges=ranges, calls=self.calls or 1)


def _executed(operations: Iterable[tuple[Row, int]]) -> Cost:
    return sum((row.cost.times(times) for row, times in operations), Cost())


def _sum(rows: Iterable[Row]) -> Cost:
    return sum((row.total for row in rows), Cost())
