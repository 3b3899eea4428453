"""Repeats cut to a few iterations, and figures at the real numbers of iterations from figures at small ones.

A figure that is a sum over operations, or over tensors that are live at a moment, is linear in the number of iterations
of each repeat once the first and the last ones are set apart, and a product where one repeat is inside another.  It is
measured with each repeat cut, then with one more iteration of it, and of both where one is inside the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, TypeAlias

from netcalc.analysis.training_step.cycles import Cycles, with_cycles
from netcalc.dims import Assumption, assumptions
from netcalc.dims.settled import least_of
from netcalc.dims.valued import Valued, form_of
from netcalc.ir import Body, CallNode, OpNode, Program, Tie, join

#: Iterations that are set apart at the start and at the end of a repeat.
_APART = 2
#: The same of a repeat whose iteration is a period of several layers.
_APART_IN_CYCLES = 1
#: Operations from which on a program is worth being cut.
_WORTH = 150

#: Numbers by what they are of, of a program whose repeats are cut.
Figures: TypeAlias = Mapping[Hashable, Sequence[int]]


class Extent(NamedTuple):
    """Iterations of a repeat in a cut program: ``times`` here and ``real`` ones, which end in ``rest`` beside units.

    With ``cycle`` an iteration is a period of several layers.
    """

    times: int
    real: int
    unit: int
    rest: int
    cycle: bool = False

    def position(self, index: int) -> int | None:
        """Return the place of an iteration, from the end below 0; None for one between those that are set apart."""
        apart = (_APART_IN_CYCLES if self.cycle else _APART) * self.unit
        if self.times == self.real or index < apart:
            return index
        from_end = index - self.times
        return from_end if from_end >= -(apart + self.rest) else None


class CutProgram(NamedTuple):
    """A program whose repeats are cut; ``extents`` has the iterations of each by the id of its node."""

    program: Program
    extents: Mapping[int, Extent]


class Fold:
    """A program whose figures are measured where its repeats are cut.

    Args:
        program: the program.
        unit: iterations of a repeat that belong together.
    """

    def __init__(self, program: Program, unit: int = 1) -> None:
        self._symbolic = {id(node): node.times for node in _symbolic_calls(program.main, set())}
        with assumptions():  # figures are the same whatever is cut
            kept, whole = _entered(program), _size(program.main, {})
            worth = whole > _WORTH or bool(self._symbolic)
            ways = [Cycles(program, {}), with_cycles(program, 2 * _APART_IN_CYCLES + 2, kept)] if worth else []
            loops = [_Loops(way, unit, kept) for way in (ways[:1] if self._symbolic else ways)]
            best = min(loops, key=lambda one: one.size, default=None)
            self._loops = None if best is None or (best.size >= whole and not self._symbolic) else best
        self._program = program
        self._cycles = Cycles(program, {}) if self._loops is None else self._loops.cycles

    def claims(self) -> tuple[Assumption, ...] | None:
        """Return what figures rely on of numbers of iterations with formulas; None if such a repeat is not cut."""
        found = [] if self._loops is None else [self._loops.claim(key) for key in self._symbolic]
        return None if len(found) < len(self._symbolic) or None in found else tuple(c for c in found if c is not None)

    def figures(self, measure: Callable[[CutProgram], Figures]) -> dict[Hashable, list[int]]:
        """Return figures of the program, by the figures of a cut one.

        Those of a place that is not set apart in all cut programs are left out by ``measure``.
        """
        totals: dict[Hashable, list[int]] = {}
        uncut = [(1, CutProgram(self._program, {}))]
        for weight, cut in uncut if self._loops is None else self._loops.weighted():
            for key, numbers in measure(cut).items():
                sums = totals.setdefault(key, [0] * len(numbers))
                for position, number in enumerate(numbers):
                    sums[position] += weight * number
        return totals

    def path(self, place: Sequence[int]) -> str:
        """Return the path of an operation, of positions of nodes and numbers of iterations, from the end below 0."""
        path, nodes, rest = "", self._cycles.program.main.nodes, list(place)
        while rest:
            position = rest.pop(0)
            if position < 0:
                break  # the cast of an input
            node = nodes[position]
            if isinstance(node, OpNode):
                return join(path, node.name)
            number = rest.pop(0)
            number = number if number >= 0 else node.times + number
            calls = self._cycles.calls.get(id(node))
            if calls is not None and rest:
                position = rest.pop(0)
                node = calls[number * len(node.body.nodes) + position]
                number = rest.pop(0)
                number = number if number >= 0 else node.times + number
            path, nodes = join(path, node.instance(number)), node.body.nodes
        return path


class _Loops:
    """The repeats of a program that are cut, by the id of their nodes, and those around each."""

    def __init__(self, cycles: Cycles, unit: int, kept: Collection[int]) -> None:
        self._program = program = cycles.program
        self._unit = unit
        self.cycles = cycles
        self._kept = kept
        self._around: dict[int, set[frozenset[int]]] = {}
        self._nodes: dict[int, CallNode] = {}
        self._find(program.main, frozenset(), set())
        self._chains = self._all_chains()
        self._cut = [self._cut_program(chain) for chain in self._chains]
        #: Operations of all cut programs.
        self.size = sum(_size(one.program.main, {}) for one in self._cut)

    def _find(self, body: Body, around: frozenset[int], visited: set[tuple[int, frozenset[int]]]) -> None:
        if (id(body), around) in visited:
            return
        visited.add((id(body), around))
        for node in body.nodes:
            if not isinstance(node, CallNode):
                continue
            inside = around
            most = self._times(node) + (-1 if isinstance(node.times, Valued) else self._unit_of(node))
            if id(node) not in self._kept and node.times > most:
                self._nodes[id(node)] = node
                self._around.setdefault(id(node), set()).add(around)
                inside = around | {id(node)}
            self._find(node.body, inside, visited)

    def _unit_of(self, node: CallNode) -> int:
        return 1 if id(node) in self.cycles.calls else self._unit

    def _times(self, node: CallNode) -> int:
        if id(node) in self.cycles.calls:
            return 2 * _APART_IN_CYCLES
        return 2 * _APART * self._unit + node.times % self._unit

    def claim(self, loop: int) -> Assumption | None:
        """Return the least number of iterations of a repeat that is cut; None for one that is not."""
        node = self._nodes.get(loop)
        if node is None or self._unit_of(node) > 1:
            return None
        return least_of(form_of(node.times), int(self._times(node)))

    def weighted(self) -> Iterator[tuple[int, CutProgram]]:
        """Yield cut programs, and how often the figures of each count."""
        excess = {key: (node.times - self._times(node)) // self._unit_of(node) for key, node in self._nodes.items()}
        for chain, one in zip(self._chains, self._cut, strict=True):
            weight = 0
            for other in self._chains:
                if chain <= other:
                    product = 1
                    for loop in other:
                        product *= excess[loop]
                    weight += (-1) ** (len(other) - len(chain)) * product
            yield weight, one

    def _all_chains(self) -> list[frozenset[int]]:
        """Return all sets of repeats inside each other, with their subsets."""
        chains = {frozenset[int]()}
        for loop, outer in self._around.items():
            for around in outer:
                for number in range(len(around) + 1):
                    chains.update(frozenset({loop, *some}) for some in combinations(around, number))
        return sorted(chains, key=lambda chain: (len(chain), sorted(chain)))

    def _cut_program(self, longer: frozenset[int]) -> CutProgram:
        """Return the program with its repeats cut, those in ``longer`` to one unit more."""
        extents: dict[int, Extent] = {}
        known: dict[int, Body] = {}

        def body_of(body: Body) -> Body:
            if id(body) not in known:
                nodes = tuple(node if isinstance(node, OpNode) else call_of(node) for node in body.nodes)
                same = all(new is old for new, old in zip(nodes, body.nodes, strict=True))
                known[id(body)] = body if same else replace(body, nodes=nodes)
            return known[id(body)]

        def call_of(node: CallNode) -> CallNode:
            inner = body_of(node.body)
            if id(node) not in self._nodes:
                return node if inner is node.body else replace(node, body=inner)
            unit = self._unit_of(node)
            times = self._times(node) + (unit if id(node) in longer else 0)
            new = replace(node, body=inner, times=times)
            extents[id(new)] = Extent(times, node.times, unit, node.times % unit, id(node) in self.cycles.calls)
            return new

        return CutProgram(replace(self._program, main=body_of(self._program.main)), extents)


def _symbolic_calls(body: Body, seen: set[int]) -> Iterator[CallNode]:
    """Yield the repeats whose number of iterations has a formula."""
    seen.add(id(body))
    for node in body.nodes:
        if isinstance(node, CallNode):
            if isinstance(node.times, Valued):
                yield node
            if id(node.body) not in seen:
                yield from _symbolic_calls(node.body, seen)


def _entered(program: Program) -> set[int]:
    """Return the repeats with an iteration whose parameters other operations use, which are not cut."""
    entered: set[int] = set()
    visited: set[int] = set()

    def enter(body: Body, path: str) -> None:
        for node in body.nodes:
            if isinstance(node, CallNode):
                rest = node.inside(path)
                if rest is not None:
                    entered.add(id(node))
                    enter(node.body, rest)

    def visit(body: Body) -> None:
        if id(body) in visited:
            return
        visited.add(id(body))
        for node in body.nodes:
            ties: list[Tie] = list(node.ties.values()) if isinstance(node, OpNode) else []
            if isinstance(node, CallNode):
                visit(node.body)
                ties = [] if node.shares is None else [node.shares]
            for tie in ties:
                enter(program.main if tie.absolute else body, tie.target)

    visit(program.main)
    return entered


def _size(body: Body, known: dict[int, int]) -> int:
    if id(body) not in known:
        known[id(body)] = sum(
            node.times * _size(node.body, known) if isinstance(node, CallNode) else 1 for node in body.nodes
        )
    return known[id(body)]
