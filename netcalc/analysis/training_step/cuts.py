"""Repeats cut to a few iterations, and figures at the real numbers of iterations from figures at small ones.

A figure that is a sum over operations, or over tensors that are live at a moment, is linear in the number of iterations
of each repeat once the first and the last ones are set apart, and a product where one repeat is inside another.  It is
measured with each repeat cut, then with one more iteration of it, and of both where one is inside the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, TypeAlias

from netcalc.ir import Body, CallNode, OpNode, Program, Tie

#: Iterations that are set apart at the start and at the end of a repeat.
_APART = 2
#: Operations from which on a program is worth being cut.
_WORTH = 150

#: Numbers by what they are of, of a program whose repeats are cut.
Figures: TypeAlias = Mapping[Hashable, Sequence[int]]


class Extent(NamedTuple):
    """Iterations of a repeat in a cut program: ``times`` here and ``real`` ones, which end in ``rest`` beside units."""

    times: int
    real: int
    unit: int
    rest: int

    def position(self, index: int) -> int | None:
        """Return the place of an iteration, from the end below 0; None for one between those that are set apart."""
        if self.times == self.real:
            return index
        if index < _APART * self.unit:
            return index
        from_end = index - self.times
        return from_end if from_end >= -(_APART * self.unit + self.rest) else None


class CutProgram(NamedTuple):
    """A program whose repeats are cut; ``extents`` has the iterations of each by the id of its node."""

    program: Program
    extents: Mapping[int, Extent]


def folded(program: Program, measure: Callable[[CutProgram], Figures], unit: int = 1) -> dict[Hashable, list[int]]:
    """Return figures of a program, measured where its repeats are cut.

    Args:
        program: the program.
        measure: the figures of a cut program.  Those of a place that is not set apart are left out.
        unit: iterations of a repeat that belong together.
    """
    loops = _Loops(program, unit)
    totals: dict[Hashable, list[int]] = {}
    for weight, cut in loops.weighted():
        for key, numbers in measure(cut).items():
            sums = totals.setdefault(key, [0] * len(numbers))
            for position, number in enumerate(numbers):
                sums[position] += weight * number
    return totals


class _Loops:
    """The repeats of a program that are cut, by the id of their nodes, and those around each."""

    def __init__(self, program: Program, unit: int) -> None:
        self._program = program
        self._unit = unit
        self._kept = _entered(program)
        self._around: dict[int, set[frozenset[int]]] = {}
        self._nodes: dict[int, CallNode] = {}
        self._find(program.main, frozenset(), set())

    def _find(self, body: Body, around: frozenset[int], visited: set[tuple[int, frozenset[int]]]) -> None:
        if (id(body), around) in visited:
            return
        visited.add((id(body), around))
        for node in body.nodes:
            if not isinstance(node, CallNode):
                continue
            inside = around
            if id(node) not in self._kept and node.times > self._times(node) + self._unit:
                self._nodes[id(node)] = node
                self._around.setdefault(id(node), set()).add(around)
                inside = around | {id(node)}
            self._find(node.body, inside, visited)

    def _times(self, node: CallNode) -> int:
        return 2 * _APART * self._unit + node.times % self._unit

    def weighted(self) -> Iterator[tuple[int, CutProgram]]:
        """Yield cut programs, and how often the figures of each count."""
        chains = self._chains()
        excess = {key: (node.times - self._times(node)) // self._unit for key, node in self._nodes.items()}
        cut = [self._cut(chain) for chain in chains]
        size = sum(_size(one.program.main, {}) for one in cut)
        whole = _size(self._program.main, {})
        if whole <= max(_WORTH, size):
            yield 1, CutProgram(self._program, {})
            return
        for chain, one in zip(chains, cut, strict=True):
            weight = 0
            for other in chains:
                if chain <= other:
                    product = 1
                    for loop in other:
                        product *= excess[loop]
                    weight += (-1) ** (len(other) - len(chain)) * product
            yield weight, one

    def _chains(self) -> list[frozenset[int]]:
        """Return all sets of repeats inside each other, with their subsets."""
        chains = {frozenset[int]()}
        for loop, outer in self._around.items():
            for around in outer:
                for number in range(len(around) + 1):
                    chains.update(frozenset({loop, *some}) for some in combinations(around, number))
        return sorted(chains, key=lambda chain: (len(chain), sorted(chain)))

    def _cut(self, longer: frozenset[int]) -> CutProgram:
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
            times = self._times(node) + (self._unit if id(node) in longer else 0)
            new = replace(node, body=inner, times=times)
            extents[id(new)] = Extent(times, node.times, self._unit, node.times % self._unit)
            return new

        return CutProgram(replace(self._program, main=body_of(self._program.main)), extents)


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
