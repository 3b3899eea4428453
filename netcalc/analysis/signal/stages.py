"""Stages: runs of lines of equal structure along one trunk, and how signals change from line to line.

Root mean squares of activations are compared within a stage.  Norms of gradients are not comparable as they are:
weights twice as large in one relu layer and half as large in the next change norms by a factor of 2, and not what the
network computes.  The product of root mean square and norm of the gradient of a tensor stays, and does not depend on
the number of elements either; it is the gradient scale coefficient of Philipp, Song and Carbonell 2017
(arXiv:1712.05577) by the loss.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from netcalc.analysis.signal.report import Growth, SignalRow, Stage, Trend
from netcalc.analysis.signal.trunk import Graph, Trunk, trunks

#: Number of equal lines that make a stage.
_LINES = 3
#: Factor from which a change within a stage is listed.
_LISTED = 10.0
#: Part of a change, in powers, that is left at its ends before it is said to have begun.
_SHOULDER = 0.02
_LEAST, _MOST = 5e-324, 1.7e308


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of a stage, and the other operations around them by which findings are explained.

    ``rows`` are all rows between its first and last line, in order of execution, and ``residual`` is True if sums
    bypass layers.
    """

    stage: Stage
    rows: tuple[SignalRow, ...]
    residual: bool


class _Line(NamedTuple):
    number: int
    row: SignalRow
    size: object


def runs(graph: Graph, rows: Sequence[SignalRow | None]) -> tuple[Run, ...]:
    """Return the stages of all trunks; ``rows`` are those of the operations, None for results that are not floats.

    Where there is none, the sums on the main trunk are compared as if they were one, or else its layers with weights.
    """
    found: dict[tuple[int, int], Run] = {}

    def add(trunk: Trunk, lines: Sequence[_Line]) -> None:
        first, last = lines[0].number, lines[-1].number
        if not any(first < end and start < last for start, end in found):
            between = tuple(row for row in rows[first : last + 1] if row is not None)
            residual = any(first < number <= last for number in trunk.sums)
            found[first, last] = Run(_stage(lines, trunk.tapped), between, residual)

    known = list(trunks(graph))
    for trunk in known:
        for lines in _stages(graph, trunk, rows):
            add(trunk, lines)
    if not found and known:
        lines = list(_lines(graph, known[0], rows))
        sums = [line for line in lines if line.number in known[0].sums]
        layers = [line for line in lines if line.row.weighted]
        for several in (sums, layers):
            if len(several) >= _LINES and not found:
                add(known[0], several)
    return tuple(found[key] for key in sorted(found))


def _lines(graph: Graph, trunk: Trunk, rows: Sequence[SignalRow | None]) -> Iterator[_Line]:
    for number in trunk.numbers:
        row = rows[number]
        if row is not None:
            yield _Line(number, row, (row.shape, tuple(param.shape for param in graph.instances[number].node.params)))


def _stages(graph: Graph, trunk: Trunk, rows: Sequence[SignalRow | None]) -> Iterator[Sequence[_Line]]:
    """Yield the runs of sums of a trunk, and those of layers with weights that do not overlap them.

    Lines are equal if their paths are equal up to numbers and names of the operations, and their operations and shapes.
    A series of which fewer than half of the lines have equal neighbours is one stage of changing shapes.
    """
    series: dict[tuple[bool, object], list[_Line]] = {}
    for line in _lines(graph, trunk, rows):
        if line.row.weighted or line.number in trunk.sums:
            ranks = tuple(len(param.shape) for param in graph.instances[line.number].node.params)
            structure = _pattern(_parent(line.row.path)), line.row.op, ranks
            series.setdefault((line.row.weighted, structure), []).append(line)
    candidates = [
        (weighted, -len(run), run)
        for (weighted, _), lines in series.items()
        for run in _equal(lines)
        if len(run) >= _LINES
    ]
    taken: list[tuple[int, int]] = []
    for *_, run in sorted(candidates, key=lambda each: each[:2]):
        first, last = run[0].number, run[-1].number
        if all(last <= start or end <= first for start, end in taken):
            taken.append((first, last))
            yield run


def _equal(lines: Sequence[_Line]) -> Iterator[Sequence[_Line]]:
    """Yield the runs of lines of equal shapes, or all lines if most have shapes of their own."""
    equal = [list(run) for _, run in groupby(lines, lambda line: line.size)]
    long = [run for run in equal if len(run) >= _LINES]
    yield from long if 2 * sum(map(len, long)) >= len(lines) else [list(lines)]


def _pattern(path: str) -> str:
    return re.sub(r"\d+", "*", path)


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _stage(lines: Sequence[_Line], tapped: bool) -> Stage:
    rows = [line.row for line in lines]
    paths = [row.path for row in rows]
    patterns, parents = ({_pattern(path) for path in those} for those in (paths, map(_parent, paths)))
    gradients = [row.measured.relative_gradient for row in rows]
    known = [value for value in gradients if value is not None]
    name = f"{paths[0]} … {paths[-1]}"
    if len(patterns) == 1:
        (name,) = patterns
    elif len(parents) == 1 and "" not in parents:
        name = f"{parents.pop()}.{rows[0].op}"
    return Stage(
        name,
        rows[0].op,
        tuple(paths),
        _trend([row.measured.rms or 0.0 for row in rows], paths),
        _trend(known, paths) if len(known) == len(rows) and not tapped else None,
    )


def _trend(values: Sequence[float], paths: Sequence[str]) -> Trend:
    first, last = values[0], values[-1]
    logs = [math.log(_bounded(value)) for value in values]
    growths = [found for sign in (1, -1) if (found := _growth(values, logs, paths, sign)) is not None]
    growths.sort(key=lambda growth: paths.index(growth.begins))
    return Trend(
        first, last, min(values), max(values), math.exp((logs[-1] - logs[0]) / (len(logs) - 1)), tuple(growths)
    )


def _bounded(value: float) -> float:
    return _MOST if math.isnan(value) else min(max(value, _LEAST), _MOST)


def _growth(values: Sequence[float], logs: Sequence[float], paths: Sequence[str], sign: int) -> Growth | None:
    """Return the largest rise, or for a sign of −1 the largest fall, from a line to a later one.

    A rise begins behind the first lines that are exactly 0, as those of a decoder whose queries begin at 0.
    """
    low = next((number for number, value in enumerate(values) if value), 0) if sign > 0 else 0
    best, ends = 0.0, (low, low)
    for number, value in enumerate(logs):
        if number < low:
            continue
        if sign * value < sign * logs[low]:
            low = number
        if sign * (value - logs[low]) > best:
            best, ends = sign * (value - logs[low]), (low, number)
    if best < math.log(_LISTED):
        return None
    start, stop = ends
    shoulder = _SHOULDER * best
    steps = range(start, stop + 1)
    begins = max(n for n in steps if abs(logs[n] - logs[start]) <= shoulder)
    end = min(n for n in steps if n > begins and abs(logs[n] - logs[stop]) <= shoulder)
    factor = values[end] / values[begins] if values[begins] else math.inf
    by_line = math.exp(min((logs[end] - logs[begins]) / (end - begins), 700.0))
    return Growth(paths[begins], paths[end], begins + 1, end + 1, values[begins], values[end], factor, by_line)


def steps(found: Sequence[Run]) -> Iterator[tuple[Stage, Stage, float]]:
    """Yield pairs of stages that follow each other, with the factor of the relative gradient between them."""
    for before, after in pairwise(found):
        a, b = before.stage.gradients, after.stage.gradients
        if a is not None and b is not None and a.last > 0 and 0 < b.first < math.inf:
            yield before.stage, after.stage, a.last / b.first
