"""Rows of reports: operations and calls with their costs, as a tree by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import NamedTuple, TypeAlias

from netcalc.analysis.figures import Cost
from netcalc.analysis.folding import Instances, Numbers
from netcalc.ir import CallNode, Node, Value, join

#: Numbers of the instances that a row stands for, with the path before the number, from the outermost level.
Ranges: TypeAlias = tuple[tuple[str, Numbers], ...]


class Row(NamedTuple):
    """A line of a report: an operation, a call, or all lines under one name.

    ``path`` is the path of the first instance, and ``title`` the path with the numbers of all instances.
    ``compute_cost`` returns the cost of one instance, and ``repeat`` is the number of instances.  ``numbers`` are those
    of the row's own level, and ``ranges`` the numbers of all levels, with the path before the number.  ``module`` is
    the path of the module that the row is a call of, if not its own; ``calls`` is the number of calls of a module in a
    tree by module.
    """

    path: str
    title: str
    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    compute_cost: Callable[[], Cost]
    repeat: int = 1
    children: tuple[Row, ...] = ()
    node: Node | None = None
    numbers: Numbers | None = None
    ranges: Ranges = ()
    module: str = ""
    calls: int = 1

    @property
    def label(self) -> str:
        """The last part of the title."""
        return self.title.rpartition(".")[2]

    @property
    def cost(self) -> Cost:
        """The cost of one instance."""
        return self.compute_cost()

    @property
    def total(self) -> Cost:
        """The cost of all instances."""
        return self.cost.times(self.repeat)


class Place(NamedTuple):
    """Position of the traversal: path and title of the enclosing layer, and True if its weights are counted before."""

    path: str = ""
    title: str = ""
    ranges: Ranges = ()
    shared: bool = False

    def inside(self, instances: Instances) -> Place:
        """Return the position inside instances of a call."""
        ranges = self.ranges
        if instances.numbers is not None and instances.times > 1:
            ranges = (*ranges, (join(self.path, instances.named("")), instances.numbers))
        shared = self.shared or (isinstance(instances.node, CallNode) and instances.node.shares is not None)
        return Place(join(self.path, instances.name), join(self.title, instances.label), ranges, shared)

    def below(self, name: str) -> Place:
        """Return the position below a part of a path."""
        return self._replace(path=join(self.path, name), title=join(self.title, name))


def present(values: Iterable[Value | None]) -> tuple[Value, ...]:
    """Return values without optional ones that are absent."""
    return tuple([value for value in values if value is not None])


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a path."""
    return tuple(name.split(".")) if name else ("",)


def grouped(rows: list[tuple[tuple[str, ...], Row]], place: Place) -> tuple[Row, ...]:
    """Return rows in which those whose names share a first part are the children of one row."""
    groups: dict[str, list[tuple[tuple[str, ...], Row]]] = {}
    for parts, row in rows:
        groups.setdefault(parts[0], []).append((parts, row))
    result: list[Row] = []
    for name, members in groups.items():
        if len(members) == 1 and len(members[0][0]) == 1:
            result.append(members[0][1])
            continue
        inside = place.below(name)
        here = [row for parts, row in members if len(parts) == 1]
        below = [(parts[1:], row) for parts, row in members if len(parts) > 1]
        children = (*here, *grouped(below, inside))
        inputs, outputs = members[0][1].inputs, members[-1][1].outputs
        cost = cache(partial(_sum, children))
        row = Row(inside.path, inside.title, "sequence", inputs, outputs, cost, 1, children, ranges=place.ranges)
        result.append(row._replace(module=_module_of(members)))
    return tuple(result)


def _module_of(members: Iterable[tuple[tuple[str, ...], Row]]) -> str:
    """Return the path of the module that rows under one name are a further call of; or an empty text."""
    modules = set()
    for parts, row in members:
        inner = "".join(f".{part}" for part in parts[1:])
        modules.add(row.module.removesuffix(inner) if inner and row.module.endswith(inner) else "")
    return modules.pop() if len(modules) == 1 else ""


def _sum(rows: Iterable[Row]) -> Cost:
    return sum((row.total for row in rows), Cost())


def cut(rows: tuple[Row, ...], depth: int, repeat: int) -> Iterator[Row]:
    """Yield the rows at a depth, and operations above it; ``repeat`` is the product of the enclosing repeats."""
    for row in rows:
        if row.children and row.path.count(".") + 1 < depth:
            yield from cut(row.children, depth, repeat * row.repeat)
        else:
            yield row._replace(repeat=row.repeat * repeat)
