"""Matching of the layers of several networks by their paths.

A row of a repeated layer stands for a range of numbered instances.  Ranges of two networks that overlap in part are
split where one of them begins or ends, so that the time does not depend on the number of instances.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, groupby, pairwise
from typing import Any, NamedTuple

from netcalc.analysis.cost import Ranges, Row
from netcalc.analysis.figures import FIGURES
from netcalc.analysis.folding import MAX_ALTERNATING, NumberedInstances, Numbers, patterns
from netcalc.analysis.summary import Layer
from netcalc.dims import Dim
from netcalc.ir import OpNode, join
from netcalc.results import recorded

#: The figures by which operations and layers are compared.
COMPARED = tuple(figure for figure in FIGURES.values() if "compare" in figure.fields)
_LAYER = ("op", "inputs", "outputs", *(figure.name for figure in COMPARED))


def change(first: Dim | None, other: Dim | None) -> Dim:
    """Return ``other`` minus ``first``; an absent figure counts as zero."""
    return (0 if other is None else other) - (0 if first is None else first)


@recorded("path", "repeat", "instances", "layers", "attributes", "difference")
@dataclass(frozen=True, slots=True)
class Match:
    """The layers of several networks at one path; figures count one instance."""

    path: str
    """Path of the first instance."""
    label: str
    """The last part of the path, with the numbers of the instances."""
    repeat: int
    """Number of instances."""
    layers: tuple[Layer | None, ...]
    """The layer of each network, null where it has none."""
    attributes: Mapping[str, tuple[Any, ...]]
    """Attributes of the operation that differ."""
    children: tuple[Match, ...]
    """Matches of the contents of the layers, if all layers that exist have contents."""
    differs: bool
    numbers: Numbers | None = None
    ranges: Ranges = ()
    """The numbers of all levels, with the path before them."""

    @property
    def instances(self) -> tuple[NumberedInstances, ...]:
        """Numbers of the instances, for each numbered part of the path with several of them; the outermost first."""
        return tuple(NumberedInstances(prefix, *numbers) for prefix, numbers in self.ranges)

    @property
    def difference(self) -> Mapping[str, tuple[Dim, ...]]:
        """Each figure of the networks after the first, minus the first's; a missing layer counts as zero."""
        figures = {figure.name: self.figures(figure.name) for figure in COMPARED}
        return {name: tuple(change(values[0], value) for value in values[1:]) for name, values in figures.items()}

    def record_values(self) -> dict[str, Any]:
        """Return the layers with the figures that are compared."""
        return {"layers": [None if layer is None else layer.record(_LAYER) for layer in self.layers]}

    def figures(self, name: str) -> tuple[Dim | None, ...]:
        """Return one figure of every layer, such as ``params`` or ``macs``."""
        figure = FIGURES[name]
        return tuple(None if layer is None else figure.of(layer) for layer in self.layers)


def match_layers(trees: Sequence[Iterable[Row]]) -> tuple[Match, ...]:
    """Return the matches of the layers of several networks, given as trees of rows."""
    siblings = [tuple(_CountedRow(row, 1) for row in tree) for tree in trees]
    return tuple(_with_outer_repeat(match, 1, ()) for match in _match_siblings(siblings, ""))


class _CountedRow(NamedTuple):
    """A row, and the number of iterations with shared weights that one of its instances stands for."""

    row: Row
    iterations: int


class _Range(NamedTuple):
    """The instances ``first`` to ``last`` of a name; a name without a number has one instance, numbered -1."""

    stem: str
    first: int = -1
    last: int = -1
    occurrence: int = 0  # number of earlier siblings of the same name

    @property
    def name(self) -> str:
        """The name of the first instance."""
        return self.stem if self.first < 0 else f"{self.stem}{self.first}"

    @property
    def label(self) -> str:
        return self.stem if self.first < 0 else f"{self.stem}{self.numbers}"

    @property
    def numbers(self) -> Numbers:
        return Numbers(self.first, self.size)

    @property
    def size(self) -> int:
        return self.last - self.first + 1


_NUMBERED = re.compile(r"(|.*_)(0|[1-9]\d*)")


def _match_siblings(siblings: Sequence[Sequence[_CountedRow] | None], prefix: str) -> tuple[Match, ...]:
    """Match the rows directly below ``prefix`` in each network; repeats are those within one instance of ``prefix``.

    ``siblings`` has None for a network without anything at ``prefix``.  Such a network does not make the rows
    different, since the parent is reported as different already.
    """
    rows_by_range = [_ranges(rows or ()) for rows in siblings]
    bounds = _bounds(range_ for rows in rows_by_range for range_ in rows)
    pieces = [
        {piece: row for range_, row in rows.items() for piece in _split(range_, bounds)} for rows in rows_by_range
    ]
    parents = [rows is not None for rows in siblings]
    matches: list[tuple[_Range, Match]] = []
    alternating: set[str] = set()
    for range_ in _merge(pieces):
        rows_here = [rows.get(range_) for rows in pieces]
        if any(row is not None and row.row.numbers is not None and row.row.numbers.period > 1 for row in rows_here):
            alternating.add(range_.stem)
        match = _match(rows_here, range_, parents, prefix)
        if matches:
            previous, last = matches[-1]
            if previous.stem == range_.stem and previous.last + 1 == range_.first and _equal_but_path(last, match):
                joined = previous._replace(last=range_.last)
                matches[-1] = joined, replace(last, label=joined.label, repeat=joined.size, numbers=joined.numbers)
                continue
        matches.append((range_, match))
    return tuple(_folded(matches, alternating))


def _folded(matches: Iterable[tuple[_Range, Match]], alternating: Collection[str]) -> Iterator[Match]:
    """Yield the matches; equal ones of layers that alternate, with these stems, are one where they follow a pattern."""
    for stem, group in groupby(matches, lambda match: match[0].stem):
        kinds: list[list[tuple[_Range, Match]]] = []
        for range_, match in group:
            near = kinds[-MAX_ALTERNATING:] if stem in alternating and range_.first >= 0 else []
            kind = next((kind for kind in near if _equal_but_path(kind[0][1], match)), None)
            if kind is None:
                kinds.append([(range_, match)])
            else:
                kind.append((range_, match))
        rows: list[Match] = []
        for kind in kinds:
            first = {range_.first: match for range_, match in kind}
            if len(kind) == 1:
                rows.append(kind[0][1])
                continue
            for numbers in patterns([(range_.first, range_.size) for range_, _ in kind]):
                label = f"{stem}{numbers}"
                rows.append(replace(first[numbers.first], label=label, repeat=numbers.size, numbers=numbers))
        if stem in alternating:
            rows.sort(key=lambda row: -1 if row.numbers is None else row.numbers.first)
        yield from rows


def _ranges(rows: Iterable[_CountedRow]) -> dict[_Range, _CountedRow]:
    """Return the rows by the ranges of instances that they stand for."""
    ranges: list[tuple[_Range, _CountedRow]] = []
    occurrences: dict[str, int] = {}
    for row, iterations in rows:
        name = row.path.rpartition(".")[2]
        occurrence = occurrences[name] = occurrences.get(name, -1) + 1
        if row.numbers is not None and row.label != name:
            stem = row.label.removesuffix(str(row.numbers))
            spans = (_Range(stem, first, last, occurrence) for first, last in row.numbers.spans())
            ranges += ((span, _CountedRow(row, iterations)) for span in spans)
            continue
        numbered = _NUMBERED.fullmatch(name)
        range_ = _Range(numbered[1], int(numbered[2]), int(numbered[2])) if numbered else _Range(name)
        ranges.append((range_._replace(occurrence=occurrence), _CountedRow(row, iterations * row.repeat)))
    # the runs of layers that alternate, in order
    ordered: list[tuple[_Range, _CountedRow]] = []
    for _, group in groupby(ranges, lambda item: (item[0].stem, item[1].row.numbers is not None)):
        ordered += sorted(group, key=lambda item: (item[0].first, item[0].occurrence))
    return dict(ordered)


def _bounds(ranges: Iterable[_Range]) -> dict[str, list[int]]:
    """Return, for each name, the sorted bounds of the ranges of all networks; the end of a range is exclusive."""
    bounds: dict[str, set[int]] = {}
    for range_ in ranges:
        if range_.first >= 0:
            bounds.setdefault(range_.stem, set()).update((range_.first, range_.last + 1))
    return {stem: sorted(numbers) for stem, numbers in bounds.items()}


def _split(range_: _Range, bounds: Mapping[str, list[int]]) -> Iterator[_Range]:
    """Yield the parts of a range between the bounds inside it."""
    if range_.first == range_.last:
        yield range_
        return
    numbers = bounds[range_.stem]
    inside = numbers[bisect_left(numbers, range_.first) : bisect_right(numbers, range_.last + 1)]
    for first, end in pairwise(inside):
        yield range_._replace(first=first, last=end - 1)


def _merge(networks: Sequence[Iterable[_Range]]) -> list[_Range]:
    """Return all ranges in the order of the first network.

    A range that the first network lacks follows the range before it in its own network.
    """
    merged: list[_Range] = []
    for ranges in networks:
        present = set(merged)
        inserted: dict[_Range | None, list[_Range]] = {}
        predecessor: _Range | None = None
        for range_ in ranges:
            if range_ in present:
                predecessor = range_
            else:
                inserted.setdefault(predecessor, []).append(range_)
        if inserted:
            merged = [*inserted.get(None, ()), *(r for range_ in merged for r in (range_, *inserted.get(range_, ())))]
    return merged


def _match(rows: Sequence[_CountedRow | None], range_: _Range, parents: Sequence[bool], prefix: str) -> Match:
    """Match the rows of one range; a network without the parent does not count as different."""
    path = join(prefix, range_.name)
    layers = tuple(None if row is None else _layer(row, path) for row in rows)
    present = [row for row in rows if row is not None]
    children: tuple[Match, ...] = ()
    if len(present) > 1 and all(row.row.children for row in present):
        below = [
            None if row is None else [_CountedRow(child, row.iterations) for child in row.row.children] for row in rows
        ]
        children = _match_siblings(below, path)
    attributes = {} if children else _different_attributes([None if row is None else row.row for row in rows])
    first, *others = compress(layers, parents)
    differs = any(layer != first for layer in others) or bool(attributes) or any(c.differs for c in children)
    numbers = None if range_.first < 0 else range_.numbers
    return Match(path, range_.label, range_.size, layers, attributes, children, differs, numbers)


def _layer(row: _CountedRow, path: str) -> Layer:
    """Return one instance of a row, with all iterations that share its weights."""
    cost = row.row.cost.times(row.iterations)
    return Layer.of(row.row._replace(path=path, title=path, ranges=(), compute_cost=lambda: cost, repeat=1))


def _different_attributes(rows: Sequence[Row | None]) -> dict[str, tuple[Any, ...]]:
    """Return the attributes that differ, if all rows that exist are the same kind of operation."""
    nodes = [None if row is None else row.node for row in rows]
    operations = [node.op for node in nodes if isinstance(node, OpNode)]
    present = sum(row is not None for row in rows)
    if len(operations) < present or len({type(op) for op in operations}) != 1:
        return {}
    different = [
        name
        for name in type(operations[0]).model_fields
        if any(getattr(op, name) != getattr(operations[0], name) for op in operations)
    ]
    return {
        name: tuple(getattr(node.op, name) if isinstance(node, OpNode) else None for node in nodes)
        for name in different
    }


def _equal_but_path(match: Match, other: Match) -> bool:
    """Return True if two matches differ only in their paths."""
    return (
        match.attributes == other.attributes
        and len(match.children) == len(other.children)
        and all(
            a == b if a is None or b is None else a == b._replace(path=a.path, title=a.title)
            for a, b in zip(match.layers, other.layers, strict=True)
        )
        and all(
            (a.label, a.repeat) == (b.label, b.repeat) and _equal_but_path(a, b)
            for a, b in zip(match.children, other.children, strict=True)
        )
    )


def _with_outer_repeat(match: Match, outer: int, ranges: Ranges) -> Match:
    """Return the match with its repeat multiplied by ``outer``, the enclosing levels' repeat, and with their ranges."""
    if match.numbers is not None and match.numbers.size > 1:
        ranges = (*ranges, (match.path.removesuffix(str(match.numbers.first)), match.numbers))
    repeat = match.repeat * outer
    layers = tuple(None if layer is None else layer._replace(repeat=repeat) for layer in match.layers)
    children = tuple(_with_outer_repeat(child, repeat, ranges) for child in match.children)
    return replace(match, repeat=repeat, layers=layers, children=children, ranges=ranges)
