"""Networks side by side: totals, operations, and layers where their paths match.

Repeated layers are compared as the runs that they are folded into, cut where a run of another network ends, so that a
comparison takes the time of the folded reports however deep the networks are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any, NamedTuple

from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.figures import FIGURES, Cost, Figure, shown_totals
from netcalc.analysis.summary import Layer, Totals, number, tensor
from netcalc.dims import Dim
from netcalc.ir import OpNode, Program, join
from netcalc.tensor_type import TensorType
from netcalc.version import __version__

__all__ = ["COMPARED", "Comparison", "Match", "OperationMatch", "change", "compare", "ratio"]

#: The figures by which operations and layers are compared.
COMPARED = tuple(figure for figure in FIGURES.values() if "compare" in figure.fields)


@dataclass(frozen=True, slots=True)
class Match:
    """Layers of one path, one for each network, None where a network has no such layer.

    Figures are those of one instance, ``repeat`` says how many instances the row stands for, and ``label`` is the last
    part of the path, or the range of the instances.  ``attributes`` are those that differ, where all the layers are
    one kind of operation.  ``children`` is what is inside the layers, where more than one has an inside.
    """

    path: str
    label: str
    repeat: int
    layers: tuple[Layer | None, ...]
    attributes: Mapping[str, tuple[str | None, ...]]
    children: tuple[Match, ...]
    differs: bool

    def figures(self, name: str) -> tuple[Dim | None, ...]:
        """One figure of every layer, such as ``params`` or ``macs``."""
        figure = FIGURES[name]
        return tuple(None if layer is None else figure.of(layer) for layer in self.layers)


@dataclass(frozen=True, slots=True)
class OperationMatch:
    """How often an operation is executed in each network, and the cost of all its executions."""

    op: str
    executions: tuple[int, ...]
    costs: tuple[Cost, ...]

    @property
    def differs(self) -> bool:
        """Whether the networks differ in how often it is executed, or at what cost."""
        return len({*self.executions}) > 1 or any(cost != self.costs[0] for cost in self.costs)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Networks side by side; differences are from the first."""

    names: tuple[str, ...]
    convention: str
    inputs: tuple[Mapping[str, TensorType], ...]
    outputs: tuple[Mapping[str, TensorType], ...]
    totals: tuple[Totals, ...]
    operations: tuple[OperationMatch, ...]
    layers: tuple[Match, ...]

    @property
    def same(self) -> bool:
        """Whether the networks have the same layers, of the same shapes and attributes."""
        return not any(match.differs for match in self.layers)

    def shown_totals(self) -> list[Figure]:
        """The figures to give as totals; a part only where it is not the whole in some network."""
        return shown_totals("compare", self.totals)

    def rows(self, *, depth: int | None = None, all: bool = False) -> Iterator[Match]:
        """The innermost matches, or at a depth what stands there; without ``all`` only those that differ.

        Times their repeats they add up to the totals, and those that differ to the differences of the totals.
        """
        return _innermost(self.layers, depth, all)

    def as_dict(self, *, depth: int | None = None, all: bool = False) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "netcalc": __version__,
            "specs": list(self.names),
            "convention": self.convention,
            "same": self.same,
            "inputs": [{name: tensor(type_) for name, type_ in found.items()} for found in self.inputs],
            "outputs": [{name: tensor(type_) for name, type_ in found.items()} for found in self.outputs],
            "totals": {
                figure.name: _sides([figure.of(totals) for totals in self.totals]) for figure in self.shown_totals()
            },
            "operations": [
                {
                    "op": match.op,
                    "executions": _sides(match.executions),
                    **{figure.name: _sides([figure.of(cost) for cost in match.costs]) for figure in COMPARED},
                }
                for match in self.operations
                if all or match.differs
            ],
            "layers": [
                {
                    "path": match.path,
                    "repeat": match.repeat,
                    "layers": [None if layer is None else layer.as_dict(_LAYER) for layer in match.layers],
                    "attributes": {name: list(values) for name, values in match.attributes.items()},
                    "difference": {figure.name: _changes(match.figures(figure.name)) for figure in COMPARED},
                }
                for match in self.rows(depth=depth, all=all)
            ],
        }


_LAYER = ("op", "inputs", "outputs", *(figure.name for figure in COMPARED))


def compare(analyses: Sequence[Analysis]) -> Comparison:
    """The comparison of two or more analysed programs, all under one convention."""
    names = [analysis.program.name for analysis in analyses]
    unique = tuple(
        f"{name} ({names[:place].count(name) + 1})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    )
    totals = tuple(Totals(analysis.total.values) for analysis in analyses)
    level = [tuple(_Side(row, 1) for row in analysis.tree()) for analysis in analyses]
    return Comparison(
        unique,
        analyses[0].convention.name,
        tuple({spec.name: spec.type for spec in analysis.program.inputs} for analysis in analyses),
        tuple(_outputs(analysis.program) for analysis in analyses),
        totals,
        tuple(_operations(analyses)),
        tuple(_times(match, 1) for match in _aligned(level, "")),
    )


def _outputs(program: Program) -> dict[str, TensorType]:
    return dict(zip(program.output_names, program.main.output_types, strict=True))


def change(first: Dim | None, other: Dim | None) -> Dim:
    """How much more ``other`` is; what is absent counts as nothing."""
    return (0 if other is None else other) - (0 if first is None else first)


def ratio(first: Dim, other: Dim) -> float | None:
    """``other`` as a multiple of ``first``, where both are numbers and the first is not zero."""
    return other / first if isinstance(first, int) and isinstance(other, int) and first else None


def _sides(values: Sequence[Dim]) -> dict[str, Any]:
    """A figure of every network, and how those after the first differ from it."""
    return {
        "values": [number(value) for value in values],
        "difference": _changes(values),
        "ratio": [ratio(values[0], value) for value in values[1:]],
    }


def _changes(values: Sequence[Dim | None]) -> list[int | str]:
    return [number(change(values[0], value)) for value in values[1:]]


def _operations(analyses: Sequence[Analysis]) -> Iterator[OperationMatch]:
    found = [analysis.by_operation for analysis in analyses]
    none = (0, Cost())
    for op in dict.fromkeys(op for each in found for op in each):
        uses = [each.get(op, none) for each in found]
        yield OperationMatch(op, tuple(count for count, _ in uses), tuple(cost for _, cost in uses))


def _innermost(matches: Iterable[Match], depth: int | None, all_: bool) -> Iterator[Match]:
    for match in matches:
        if match.children and (depth is None or match.path.count(".") + 1 < depth):
            yield from _innermost(match.children, depth, all_)
        elif all_ or match.differs or None in match.layers:
            yield match


# -- aligning ---------------------------------------------------------------------------------------


class _Side(NamedTuple):
    """A row of one network, and how many turns of repeats that share their weights it is taken in."""

    row: Row
    turns: int


class _Run(NamedTuple):
    """The instances ``first`` to ``last`` of a name; a name without a number is its own only instance."""

    stem: str
    first: int = -1
    last: int = -1
    again: int = 0  # how many of the same name stand before it

    @property
    def name(self) -> str:
        """The name of the first instance."""
        return self.stem if self.first < 0 else f"{self.stem}{self.first}"

    @property
    def label(self) -> str:
        return self.name if self.first == self.last else f"{self.name}–{self.stem}{self.last}"

    @property
    def size(self) -> int:
        return self.last - self.first + 1


_NUMBERED = re.compile(r"(|.*_)(0|[1-9]\d*)")


def _aligned(level: Sequence[Sequence[_Side] | None], prefix: str) -> tuple[Match, ...]:
    """The matches of the rows that stand below ``prefix`` in each network; repeats are of one instance of it.

    A network that has nothing at ``prefix`` is None, and makes no difference here: that is said above.
    """
    runs = [_runs(sides or ()) for sides in level]
    cuts = _cuts(run for found in runs for run in found)
    pieces = [{piece: side for run, side in found.items() for piece in _pieces(run, cuts)} for found in runs]
    matches: list[tuple[_Run, Match]] = []
    for run in _merged(pieces):
        match = _match(run, [found.get(run) for found in pieces], [sides is not None for sides in level], prefix)
        if matches:
            before, last = matches[-1]
            if before.stem == run.stem and before.last + 1 == run.first and _alike(last, match):
                longer = before._replace(last=run.last)
                matches[-1] = longer, replace(last, label=longer.label, repeat=longer.size)
                continue
        matches.append((run, match))
    return tuple(match for _, match in matches)


def _runs(sides: Iterable[_Side]) -> dict[_Run, _Side]:
    """Rows by the instances that they stand for."""
    runs: dict[_Run, _Side] = {}
    seen: dict[str, int] = {}
    for row, turns in sides:
        name = row.path.rpartition(".")[2]
        again = seen[name] = seen.get(name, -1) + 1
        numbered = _NUMBERED.fullmatch(name) if row.label == name else re.fullmatch(r"(.*?)(\d+)", name)
        if numbered is None:
            runs[_Run(name, again=again)] = _Side(row, turns * row.repeat)
            continue
        stem, first = numbered[1], int(numbered[2])
        ranged = row.label != name
        last = first + row.repeat - 1 if ranged else first
        runs[_Run(stem, first, last, again)] = _Side(row, turns if ranged else turns * row.repeat)
    return runs


def _cuts(runs: Iterable[_Run]) -> dict[str, list[int]]:
    """For each name, where a run of any network begins or has ended."""
    cuts: dict[str, set[int]] = {}
    for run in runs:
        if run.first >= 0:
            cuts.setdefault(run.stem, set()).update((run.first, run.last + 1))
    return {stem: sorted(found) for stem, found in cuts.items()}


def _pieces(run: _Run, cuts: Mapping[str, list[int]]) -> Iterator[_Run]:
    """The run, cut where others begin or end."""
    if run.first == run.last:
        yield run
        return
    found = cuts[run.stem]
    for first, end in pairwise(found[bisect_left(found, run.first) : bisect_right(found, run.last + 1)]):
        yield run._replace(first=first, last=end - 1)


def _merged(pieces: Sequence[Iterable[_Run]]) -> list[_Run]:
    """All the runs in the order of the first network; what only others have stands behind what it follows there."""
    merged: list[_Run] = []
    for found in pieces:
        known = set(merged)
        behind: dict[_Run | None, list[_Run]] = {}
        anchor: _Run | None = None
        for run in found:
            if run in known:
                anchor = run
            else:
                behind.setdefault(anchor, []).append(run)
        if behind:
            merged = [*behind.get(None, ()), *(x for run in merged for x in (run, *behind.get(run, ())))]
    return merged


def _match(run: _Run, sides: Sequence[_Side | None], asked: Sequence[bool], prefix: str) -> Match:
    path = join(prefix, run.name)
    layers = tuple(None if side is None else _layer(side, path) for side in sides)
    present = [side for side in sides if side is not None]
    children: tuple[Match, ...] = ()
    if len(present) > 1 and all(side.row.children for side in present):
        inner = [None if side is None else [_Side(row, side.turns) for row in side.row.children] for side in sides]
        children = _aligned(inner, path)
    attributes = {} if children else _attributes([None if side is None else side.row for side in sides])
    first, *others = compress(layers, asked)
    differs = any(layer != first for layer in others) or bool(attributes) or any(c.differs for c in children)
    return Match(path, run.label, run.size, layers, attributes, children, differs)


def _layer(side: _Side, path: str) -> Layer:
    """One instance of the row, with all the turns that share its weights."""
    cost = side.row.cost.times(side.turns)
    return Layer.of(side.row._replace(path=path, compute=lambda: cost, repeat=1))


def _attributes(rows: Sequence[Row | None]) -> dict[str, tuple[str | None, ...]]:
    """The attributes that are not the same in all the rows that there are, where these are one kind of operation."""
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
        name: tuple(str(getattr(node.op, name)) if isinstance(node, OpNode) else None for node in nodes)
        for name in different
    }


def _alike(one: Match, other: Match) -> bool:
    """Whether two matches say the same of what stands at their paths."""
    return (
        one.attributes == other.attributes
        and len(one.children) == len(other.children)
        and all(
            a == b if a is None or b is None else a == b._replace(path=a.path)
            for a, b in zip(one.layers, other.layers, strict=True)
        )
        and all(
            (a.label, a.repeat) == (b.label, b.repeat) and _alike(a, b)
            for a, b in zip(one.children, other.children, strict=True)
        )
    )


def _times(match: Match, around: int) -> Match:
    """The match with every repeat taking in the repeats around it."""
    repeat = match.repeat * around
    layers = tuple(None if layer is None else layer._replace(repeat=repeat) for layer in match.layers)
    return replace(match, repeat=repeat, layers=layers, children=tuple(_times(c, repeat) for c in match.children))
