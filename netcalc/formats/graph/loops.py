"""Loops that the source has unrolled: equal lines that come again, each time on what they made the time before."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import NamedTuple

from netcalc.formats.graph.items import Item, Sequence, Step, free_name
from netcalc.formats.graph.model import Value
from netcalc.formats.graph.structure import Structure, kept, structure_of
from netcalc.formats.graph.uses import use_counts

#: Largest number of lines in an iteration.
_LONGEST = 512
#: Lines that are compared before whole iterations are, and lines at which an iteration is tried to begin.
_FEW, _TRIED = 4, 8
#: Smallest number of iterations, and of lines that a loop leaves out.
_LEAST_TIMES, _LEAST_LINES = 3, 12


def mark_loops(root: Sequence, outputs: tuple[Value, ...], paths: Collection[str]) -> None:
    """Make the iterations of each loop in a tree sequences of their own, with the numbers of iterations as names.

    Args:
        root: the tree.
        outputs: the values that the network gives.
        paths: of the tensors of the source.
    """
    within = {".".join(parts[:depth]) for parts in (p.split(".") for p in paths) for depth in range(1, len(parts) + 1)}
    _mark(root, use_counts([root], outputs), within)


def _mark(sequence: Sequence, used: Mapping[Value, int], paths: Collection[str]) -> None:
    items: list[Item] = []
    taken = {item.name.partition(".")[0] for item in sequence.items}
    run: list[Step] = []
    for item in [*sequence.items, None]:
        if isinstance(item, Step) and not (item.name or item.line.parameters):
            run.append(item)
            continue
        items += _with_iterations(run, sequence, used, taken, paths)
        run = []
        if item is not None:
            items.append(item)
    sequence.items = items
    for inner in items:
        if isinstance(inner, Sequence):
            _mark(inner, used, paths)


class _Loop(NamedTuple):
    """Iterations of ``size`` lines, the first of which begins at ``start``."""

    start: int
    size: int
    times: int

    @property
    def stop(self) -> int:
        """The number of the line after the last iteration."""
        return self.start + self.size * self.times

    @property
    def left_out(self) -> int:
        """The number of lines that need not be written."""
        return self.size * (self.times - 1)

    def is_worthwhile(self) -> bool:
        """Return True if there are iterations and lines enough."""
        return self.times >= _LEAST_TIMES and self.left_out >= _LEAST_LINES


def _with_iterations(
    run: list[Step], around: Sequence, used: Mapping[Value, int], taken: set[str], paths: Collection[str]
) -> list[Item]:
    """Return lines with sequences in place of iterations, given the names that are taken around them."""
    if len(run) < _LEAST_LINES:
        return [*run]
    chosen: list[_Loop] = []
    for loop in sorted(_candidates(run), key=lambda loop: (-loop.left_out, loop.start)):
        if all(loop.stop <= other.start or other.stop <= loop.start for other in chosen):
            found = _checked(run, loop, used)
            if found is not None:
                chosen.append(found)
    items: list[Item] = []
    done = 0
    for loop in sorted(chosen):
        name = _name(around, taken, paths)
        items += run[done : loop.start]
        for number in range(loop.times):
            lines = _iteration(run, loop, number)
            items.append(Sequence(f"{name}.{number}", "", f"{around.kind}Step", [*lines]))
        done = loop.stop
    return [*items, *run[done:]]


def _name(around: Sequence, taken: set[str], paths: Collection[str]) -> str:
    """Return a free name for a loop in a sequence, which no tensor of the source has."""
    before = f"{around.path}." if around.path else ""
    below = {path.removeprefix(before) for path in paths if path.startswith(before)}
    name = free_name("loop", taken | below)
    taken.add(name)
    return name


def _candidates(run: list[Step]) -> Iterator[_Loop]:
    """Yield stretches of lines with the operations of those one period before."""
    numbers: dict[Hashable, int] = {}
    kinds = [numbers.setdefault(_kind(step), len(numbers)) for step in run]
    for size in _periods(kinds):
        start = 0
        for index in range(len(kinds) - size + 1):
            if index == len(kinds) - size or kinds[index] != kinds[index + size]:
                loop = _Loop(start, size, (index - start) // size + 1)
                if loop.is_worthwhile():
                    yield loop
                start = index + 1


def _periods(kinds: list[int]) -> list[int]:
    """Return the distances after which a few kinds come again, in which all periods are but for those of short ones."""
    before: dict[tuple[int, ...], int] = {}
    found: set[int] = set()
    for index in range(len(kinds) - _FEW + 1):
        few = tuple(kinds[index : index + _FEW])
        found.add(index - before.get(few, index))
        before[few] = index
    return sorted(size for size in found if 0 < size <= min(_LONGEST, len(kinds) // _LEAST_TIMES))


def _kind(step: Step) -> Hashable:
    line = step.line
    return line.operation, kept(line), tuple(value is None for value in line.inputs), len(line.outputs)


def _iteration(run: list[Step], loop: _Loop, number: int) -> list[Step]:
    start = loop.start + number * loop.size
    return run[start : start + loop.size]


def _checked(run: list[Step], loop: _Loop, used: Mapping[Value, int]) -> _Loop | None:
    """Return the largest loop in a stretch of lines; None if there is none.

    An iteration begins with a line that takes few of the values before it.
    """
    whole = min(loop.stop + loop.size - 1, len(run))  # the stretch may end within an iteration
    middle = loop.start + loop.times // 2 * loop.size
    last_use = {value: index for index in range(loop.start, whole) for value in run[index].line.inputs}

    def crossing(phase: int) -> int:
        begin = middle - loop.size + phase
        made = (value for step in run[max(begin - loop.size, 0) : begin] for value in step.line.outputs)
        return sum(last_use.get(value, -1) >= begin for value in made)

    for phase in sorted(range(loop.size), key=crossing)[:_TRIED]:
        start = loop.start + phase
        shifted = _Loop(start, loop.size, (whole - start) // loop.size)
        if shifted.is_worthwhile() and (found := _longest(run, shifted, used)) is not None:
            return found
    return None


def _longest(run: list[Step], loop: _Loop, used: Mapping[Value, int]) -> _Loop | None:
    """Return the longest loop of iterations that are alike and follow each other."""
    structures = [_structure(run, loop, number, used) for number in range(loop.times)]
    links = [_passed(before, after) for before, after in pairwise(structures)]
    longest = _Loop(loop.start, loop.size, 1)
    number = 0
    for link, alike in groupby(links):
        times = len([*alike]) + 1
        if link is not None and times > longest.times:
            longest = _Loop(loop.start + number * loop.size, loop.size, times)
        number += times - 1
    return longest if longest.is_worthwhile() else None


def _structure(run: list[Step], loop: _Loop, number: int, used: Mapping[Value, int]) -> Structure:
    return structure_of(Sequence("", "", "", [*_iteration(run, loop, number)]), used)


def _passed(before: Structure, after: Structure) -> dict[int, int] | None:
    """Return which values of an iteration are which inputs of the next one, whose other inputs are the same.

    None if the second one is not like the first or takes nothing from it.
    """
    if before.key != after.key:
        return None
    numbers = {value: number for number, value in enumerate(before.made)}
    passed: dict[int, int] = {}
    for index, (own, next_own) in enumerate(zip(before.inputs, after.inputs, strict=True)):
        if next_own in numbers:
            passed[numbers[next_own]] = index
        elif own is not next_own:
            return None
    return passed or None
