"""Folding of the numbered instances of equal layers into the rows of reports.

Equal iterations of a repeat share one body.  Iterations of one body that alternate with others are one row if their
numbers follow a pattern, so that 26 layers that are local and global by turns are two rows, ``0,2,…,24`` and
``1,3,…,25``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

from netcalc.dims import Poly
from netcalc.ir import CallNode, Node, OpNode
from netcalc.results import Entry, recorded

#: Runs of one kind of layer that may alternate within a period.
MAX_ALTERNATING = 8


@recorded("prefix", "first", Entry("count", "size"), "run", "period")
class NumberedInstances(NamedTuple):
    """Numbers of equal instances: `run` consecutive ones, again every `period` numbers, `count` in all."""

    prefix: str
    """The path before the number."""
    first: int
    size: int
    run: int
    period: int


class Numbers(NamedTuple):
    """The numbers of equal instances: ``run`` consecutive ones, again every ``period`` numbers, ``size`` in all.

    Consecutive numbers have a run and a period of 1.  The last run may be shorter than the others.

    >>> str(Numbers(0, 12)), str(Numbers(1, 13, 1, 2)), str(Numbers(0, 22, 5, 6))
    ('0–11', '1,3,…,25', '0–4,6–10,…,24–25')
    """

    first: int
    size: int = 1
    run: int = 1
    period: int = 1

    @property
    def last(self) -> int:
        """The last number."""
        return self._number(self.size - 1)

    @property
    def runs(self) -> int:
        """Number of runs of consecutive numbers."""
        return 1 if self.period == 1 else -(-self.size // self.run)

    def spans(self, positions: Iterable[int] | None = None) -> Iterator[tuple[int, int]]:
        """Yield the first and the last number of each run, or of the runs at some positions."""
        if self.period == 1:
            yield self.first, self.last
            return
        for position in range(self.runs) if positions is None else positions:
            start = self.first + position * self.period
            yield start, min(start + self.run - 1, self.last)

    def each(self) -> Iterator[int]:
        """Yield the numbers in order."""
        return map(self._number, range(self.size))

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int) or not self.first <= number <= self.last:
            return False
        return self.period == 1 or (number - self.first) % self.period < self.run

    def __str__(self) -> str:
        runs = self.runs
        shown = list(self.spans(None if runs <= 3 else (0, 1, runs - 1)))
        texts = [_span_text(first, last) for first, last in shown]
        if runs > 3:
            texts.insert(2, "…")
        return ",".join(texts)

    def part(self, text: str) -> Self | None:
        """Return the numbers that ``text`` gives, as :meth:`__str__` writes them, or one number, or consecutive ones.

        ``-`` and ``...`` stand for the dash and the ellipsis.  None if ``text`` is none of these, or if not all numbers
        are among these.
        """
        if text == str(self):
            return self
        text = text.replace("...", "…").replace("-", "–")
        if text == str(self):
            return self
        match = re.fullmatch(r"([0-9]{1,18})(?:–([0-9]{1,18}))?", text)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        contains = any(start <= first <= last <= end for start, end in self._spans_around(first))
        return type(self)(first, last - first + 1) if contains else None

    def _number(self, position: int) -> int:
        if self.period == 1:
            return self.first + position
        return self.first + position // self.run * self.period + position % self.run

    def _spans_around(self, number: int) -> Iterator[tuple[int, int]]:
        if number in self:
            yield from self.spans([(number - self.first) // self.period])


def _span_text(first: int, last: int) -> str:
    """Return the numbers of a run; the last may be symbolic."""
    if isinstance(last, Poly):
        return f"{first}–({last})"
    return f"{first}" if first == last else f"{first}–{last}"


class Instances(NamedTuple):
    """Instances of a node that are one row: ``times`` of them, with ``numbers`` if their paths are numbered."""

    node: Node
    times: int = 1
    numbers: Numbers | None = None

    @property
    def name(self) -> str:
        """Relative path of the first instance."""
        return self.named("" if self.numbers is None else str(self.numbers.first))

    @property
    def label(self) -> str:
        """Relative path with all numbers."""
        return self.named("" if self.numbers is None else str(self.numbers))

    def named(self, numbers: str) -> str:
        """Return the relative path with other numbers."""
        if isinstance(self.node, OpNode) or self.numbers is None:
            return self.node.name
        return self.node.stem + numbers


def folded(nodes: Sequence[Node], *, unroll: bool = False) -> Iterator[Instances]:
    """Yield the nodes of a body in order of first execution, equal calls of one repeat together.

    With ``unroll`` every instance is yielded on its own.
    """
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if isinstance(node, OpNode):
            yield Instances(node)
        elif node.start is None:
            yield from [Instances(node)] * node.times if unroll else [Instances(node, node.times)]
        elif unroll:
            yield from (Instances(node, 1, Numbers(node.start + index)) for index in range(node.times))
        else:
            calls = list(_one_repeat(nodes, position))
            yield from _folded_calls(calls)
            position += len(calls)
            continue
        position += 1


def patterns(runs: Sequence[tuple[int, int]]) -> Iterator[Numbers]:
    """Yield the patterns that runs of consecutive numbers make up; a run is given by its first number and its length.

    >>> [str(numbers) for numbers in patterns([(0, 3), (4, 3), (8, 2), (20, 1)])]
    ['0–2,4–6,8–9', '20']
    """
    position = 0
    while position < len(runs):
        alternating, covered = _best(runs, position)
        later, reached = _best(runs, position + 1)
        if reached - later > covered - alternating:  # the first run is cut, and does not repeat
            alternating = covered = 1
        section = runs[position : position + covered]
        for offset in range(min(alternating, covered)):
            own = section[offset::alternating]
            (first, length), size = own[0], sum(length for _, length in own)
            yield Numbers(first, size, length, own[1][0] - first) if len(own) > 1 else Numbers(first, size)
        position += covered


def runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first number and the length of each run of consecutive numbers.

    >>> list(runs([3, 0, 1, 2, 7]))
    [(0, 4), (7, 1)]
    """
    return _joined((number, 1) for number in sorted(numbers))


def _joined(parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield runs of consecutive numbers, each given by its first number and its length; runs that meet are one."""
    start = length = 0
    for number, count in parts:
        if length and number == start + length:
            length += count
            continue
        if length:
            yield start, length
        start, length = number, count
    if length:
        yield start, length


def _best(runs: Sequence[tuple[int, int]], position: int) -> tuple[int, int]:
    """Return how many runs alternate within a period from a position, for the fewest rows, and how many they cover."""
    alternating, covered = 1, 1
    for candidate in range(1, min(MAX_ALTERNATING, len(runs) - position) + 1):
        reached = _repeating(runs, position, candidate)
        if reached - candidate > covered - alternating:
            alternating, covered = candidate, reached
    return alternating, covered


def _repeating(runs: Sequence[tuple[int, int]], position: int, alternating: int) -> int:
    """Return the number of runs from a position of which each is the one ``alternating`` before it, a period later.

    The last one may be shorter.
    """
    period = 0
    for index in range(position + alternating, len(runs)):
        (earlier, expected), (start, length) = runs[index - alternating], runs[index]
        period = period or start - earlier
        if length > expected or start - earlier != period:
            return index - position
        if length < expected:
            return index - position + 1
    return len(runs) - position


def _one_repeat(nodes: Sequence[Node], position: int) -> Iterator[CallNode]:
    """Yield the calls from a position whose instances continue each other's numbers."""
    last: CallNode | None = None
    for node in nodes[position:]:
        if not isinstance(node, CallNode) or node.start is None:
            return
        if last is not None and (node.name != last.name or node.start != (last.start or 0) + last.times):
            return
        last = node
        yield node


def _folded_calls(calls: Sequence[CallNode]) -> Iterator[Instances]:
    """Yield the calls of one repeat, calls of one body together where their numbers follow a pattern."""
    groups: dict[Any, list[CallNode]] = {}
    for call in calls:
        groups.setdefault((id(call.body), call.shares), []).append(call)
    rows: list[tuple[int, Instances]] = []
    for group in groups.values():
        by_start = {call.start or 0: call for call in group}
        counted = [(start, call.times) for start, call in by_start.items() if not isinstance(call.times, Poly)]
        # a symbolic number of calls is no run of a pattern, in which all runs have one length
        others = [Numbers(start, call.times) for start, call in by_start.items() if isinstance(call.times, Poly)]
        for numbers in [*patterns(list(_joined(counted))), *others]:
            rows.append((numbers.first, Instances(by_start[numbers.first], numbers.size, numbers)))
    rows.sort(key=lambda row: row[0])
    yield from (instances for _, instances in rows)
