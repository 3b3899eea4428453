"""Layers that a user leaves out of totals, by patterns of paths.

The bodies of blocks are shared between their instances, so that layers are left out where totals are formed: every
instance is matched by its own path, and its cost is taken off.  Rows keep their figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product
from typing import NamedTuple

from netcalc.analysis.figures import Cost, Figures, Phase, Use, View, Weight, shown_totals
from netcalc.analysis.rows import Row
from netcalc.analysis.walk import instances
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim
from netcalc.ir import Body, OpNode, Program, join


class Exclusion(NamedTuple):
    """Layers that a pattern leaves out of the totals."""

    pattern: str
    """Pattern of the paths."""
    layers: int
    """Number of operations that are left out, over all instances."""
    totals: Mapping[str, Dim]
    """Figures of the operations, which the totals lack."""
    tied: tuple[str, ...]
    """Parameters of these operations that the totals have, since other layers use them too."""


class ExcludedPart(NamedTuple):
    """Layers that a pattern leaves out: number of operations, cost, and parameters that other layers use too."""

    pattern: str
    layers: int
    cost: Cost
    tied: tuple[str, ...]


class _Execution(NamedTuple):
    """An operation of the unrolled program.

    ``path`` is that of its line and ``module`` that of its module; ``shared`` is True if another call has its weights,
    and ``pattern`` the number of the pattern that leaves it out.
    """

    path: str
    module: str
    node: OpNode
    shared: bool
    pattern: int | None


class Exclusions:
    """The layers of a program that patterns leave out of its totals.

    A pattern matches the path of an operation or of a layer around it; of several that match, the first counts.  A
    parameter is left out if all layers that use it are.

    Args:
        program: the program.
        patterns: patterns of paths, such as ``head`` and ``*.mlp.router``.
        cost_of: function that returns the cost of an operation, with True for one that shares the weights of another.
        weights_of: function that returns the weights of an operation.

    Raises:
        NetcalcError: E503 for every pattern that matches nothing; E603 for too many instances.
    """

    def __init__(
        self,
        program: Program,
        patterns: Iterable[str],
        cost_of: Callable[[OpNode, bool], Cost],
        weights_of: Callable[[OpNode], Iterable[tuple[Use, Weight]]],
    ) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        self._cost_of, self._weights_of = cost_of, weights_of
        self._left_out: list[_Execution] = []
        self._counted: dict[int, OpNode] = {}
        self._uses: set[str] = set()  # owners of parameters that a counted operation uses
        self._owned: list[tuple[_Execution, str, str]] = []  # parameters left out, with their paths
        self._read(program)

    def _read(self, program: Program) -> None:
        """Go through all instances once."""
        matched: set[int] = set()
        paths: dict[str, None] = {}
        walked = self._walk(program.main, _Place(), matched, paths)
        for execution, instance in zip(walked, instances(program), strict=True):
            if execution.pattern is None:
                self._counted[id(execution.node)] = execution.node
                self._uses.update(instance.owners.values())
                continue
            self._left_out.append(execution)
            for name, owner in instance.owners.items():
                if not execution.shared and name not in execution.node.ties:
                    self._owned.append((execution, name, owner))
        missing = [pattern for number, pattern in enumerate(self.patterns) if number not in matched]
        if missing:
            raise NetcalcError([_no_match(pattern, paths) for pattern in missing])

    @cached_property
    def parts(self) -> tuple[ExcludedPart, ...]:
        """The layers that each pattern leaves out."""
        tied: dict[int, list[tuple[str, Cost]]] = {}
        for execution, path, cost in self._tied:
            tied.setdefault(execution.pattern or 0, []).append((path, cost))
        groups: dict[int, Counter[tuple[int, bool]]] = {}
        nodes = {id(execution.node): execution.node for execution in self._left_out}
        for execution in self._left_out:
            groups.setdefault(execution.pattern or 0, Counter())[id(execution.node), execution.shared] += 1
        parts = []
        for number, pattern in enumerate(self.patterns):
            group, stays = groups.get(number, Counter()), tied.get(number, [])
            costs = (self._cost_of(nodes[key], shared).times(times) for (key, shared), times in group.items())
            cost = sum((*costs, *(cost.times(-1) for _, cost in stays)), Cost())
            parts.append(ExcludedPart(pattern, group.total(), cost, tuple(path for path, _ in stays)))
        return tuple(parts)

    def shown(self, view: View, totals: Figures, phases: frozenset[Phase]) -> tuple[Exclusion, ...]:
        """Return the figures of each pattern that a view gives as totals."""
        figures = shown_totals(view, [totals, *(part.cost for part in self.parts)], phases)
        return tuple(
            Exclusion(part.pattern, part.layers, {f.name: f.of(part.cost) for f in figures}, part.tied)
            for part in self.parts
        )

    @property
    def cost(self) -> Cost:
        """Figures that the totals lack."""
        return sum((part.cost for part in self.parts), Cost())

    @property
    def counted(self) -> Iterable[OpNode]:
        """The operations of which at least one instance is counted, in order of first use."""
        return self._counted.values()

    @cached_property
    def by_operation(self) -> Mapping[str, tuple[int, Cost]]:
        """The number of executions that are left out, and what the totals lack of them, by operation."""
        operations: dict[str, tuple[int, Cost]] = {}
        for node, executions, cost in self._changes():
            count, total = operations.get(node.op.name, (0, Cost()))
            operations[node.op.name] = count + executions, total + cost
        return operations

    @cached_property
    def _by_module(self) -> Mapping[str, Cost]:
        """Figures that the totals lack, by the path of every module and operation."""
        costs: dict[str, Cost] = {}
        changes = [(e.module, self._cost_of(e.node, e.shared)) for e in self._left_out]
        for path, cost in (*changes, *((e.module, cost.times(-1)) for e, _, cost in self._tied)):
            for start in _starts(path):
                costs[start] = costs.get(start, Cost()) + cost
        return costs

    @cached_property
    def _paths(self) -> Counter[str]:
        return Counter(execution.path for execution in self._left_out)

    @cached_property
    def _tied(self) -> tuple[tuple[_Execution, str, Cost], ...]:
        """Parameters of operations that are left out which others use: the operation, the path and the cost of each."""
        return tuple(
            (execution, path, Cost.of_weights(w for w in self._weights_of(execution.node) if w[1].param.name == name))
            for execution, name, path in self._owned
            if path in self._uses
        )

    def _changes(self) -> Iterator[tuple[OpNode, int, Cost]]:
        for execution in self._left_out:
            yield execution.node, 1, self._cost_of(execution.node, execution.shared)
        for execution, _, cost in self._tied:
            yield execution.node, 0, cost.times(-1)

    def below(self, row: Row) -> Cost:
        """Return the figures that the totals lack of all instances of a row of a tree by module."""
        return sum((self._by_module[path] for path in instance_paths(row) if path in self._by_module), Cost())

    def executions(self, row: Row) -> int:
        """Return the number of executions of the operation of a row by line that are left out."""
        paths = instance_paths(row)
        left_out = sum(path in self._paths for path in paths)
        return row.repeat * left_out // len(paths)

    def whole(self, row: Row) -> int:
        """Return the number of instances of a row of a tree by module that a pattern matches as a whole."""
        paths = instance_paths(row)
        matched = sum(any(self._matches(start) for start in _starts(path)) for path in paths)
        return row.repeat * matched // len(paths)

    def _matches(self, path: str) -> frozenset[int]:
        return frozenset(number for number, pattern in enumerate(self.patterns) if fnmatchcase(path, pattern))

    def _walk(self, body: Body, place: _Place, matched: set[int], paths: dict[str, None]) -> Iterator[_Execution]:
        """Yield the operations of a body, and collect the patterns that match and all paths."""
        for node in body.nodes:
            for index in range(1 if isinstance(node, OpNode) else node.times):
                name = node.name if isinstance(node, OpNode) else node.instance(index)
                path, module = join(place.path, name), _module_path(node.module, name, place)
                found = place.patterns
                for start in (*_starts(path, place.path), *(_starts(module, place.module) if module != path else ())):
                    paths[start] = None
                    found |= self._matches(start)
                matched |= found
                if isinstance(node, OpNode):
                    yield _Execution(path, module, node, place.shared, min(found, default=None))
                else:
                    inside = _Place(path, module, place.shared or node.shares is not None, found)
                    yield from self._walk(node.body, inside, matched, paths)


class _Place(NamedTuple):
    """Position of the traversal: the paths of line and module around, and the patterns that match one around."""

    path: str = ""
    module: str = ""
    shared: bool = False
    patterns: frozenset[int] = frozenset()


def instance_paths(row: Row) -> list[str]:
    """Return the paths of the instances that a row stands for.

    >>> from netcalc.analysis.folding import Numbers
    >>> row = Row("h.0.e.1.fc", "", "", (), (), Cost, ranges=(("h.", Numbers(0, 2)), ("h.0.e.", Numbers(1, 2))))
    >>> instance_paths(row)
    ['h.0.e.1.fc', 'h.0.e.2.fc', 'h.1.e.1.fc', 'h.1.e.2.fc']
    """
    stems, done = [], ""
    for prefix, numbers in row.ranges:
        stems.append(prefix[len(done) :])
        done = f"{prefix}{numbers.first}"
    rest = row.path[len(done) :]
    return [
        "".join(f"{stem}{number}" for stem, number in zip(stems, chosen, strict=True)) + rest
        for chosen in product(*(numbers.each() for _, numbers in row.ranges))
    ]


def _starts(path: str, after: str = "") -> Iterator[str]:
    """Yield the beginnings of a path that are longer than one of them, and the path itself."""
    position = path.find(".", len(after) + 1 if after else 0)
    while position >= 0:
        yield path[:position]
        position = path.find(".", position + 1)
    if len(path) > len(after):
        yield path


def _module_path(module: str, name: str, place: _Place) -> str:
    """Return the path of the module that a line is a call of."""
    if not module:
        return join(place.module, name)
    return module[1:] if module.startswith("/") else join(place.module, module)


def _no_match(pattern: str, paths: Iterable[str]) -> Diagnostic:
    top = ", ".join(path for path in paths if "." not in path)
    near = did_you_mean(pattern, list(paths)) or did_you_mean(pattern.strip("*."), list(paths))
    hint = near or f"the top level has {top}; a pattern may have *, as in '*.router'"
    return Diagnostic("E503", f"--exclude {pattern}: no layer has a path that matches", hint=hint)
