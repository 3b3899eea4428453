"""Figures of the points of a sweep, in columns."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from netcalc.analysis.cost import analyze
from netcalc.analysis.memory_table import MemoryPoint
from netcalc.analysis.stored_weights import stored_weights
from netcalc.arguments import options_of
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, integer
from netcalc.ir import Program
from netcalc.options import MemoryOptions
from netcalc.planning.points import MemoryPoints
from netcalc.request import Request
from netcalc.spec.same_body import sketches_apart
from netcalc.sweep.chains import chain_of
from netcalc.sweep.families import Rest, Results
from netcalc.sweep.plan import Undefined
from netcalc.sweep.points import Points

#: Figures of work and parameters, under netcalc's convention.
_COUNTS = ("params", "macs", "flops")
#: Figures of memory, in bytes, as the table of ``memory --over`` has them.
_MEMORY: Mapping[str, Callable[[MemoryPoint], Any]] = {
    "memory": lambda point: point.total,
    "weights": lambda point: point.weights,
    "activations": lambda point: point.activations,
    "cache": lambda point: next(iter(point.caches.values()), 0),
}
#: Every figure that a sweep can have, with its unit.
FIGURES: Mapping[str, str] = {
    "params": "elements",
    "macs": "MACs",
    "flops": "FLOPs",
    **dict.fromkeys(_MEMORY, "bytes"),
}

#: Points whose columns are taken together: few enough that they stay in the cache of a core.
_TOGETHER = 1 << 16
#: New objects, and collections of these, after which cycles are collected.
_OBJECTS, _TURNS = 100_000, 20


class Evaluated(NamedTuple):
    """Figures of some points.

    Attributes:
        figures: values by name, None for points that the spec refuses.
        reasons: why the spec refuses a point, in a line; None for the others.
    """

    figures: dict[str, list[int | None]]
    reasons: list[str | None]


class Arrays(NamedTuple):
    """Figures of some points as arrays.

    Attributes:
        figures: values by name: int64, or Python integers if one does not fit; 0 for points that the spec refuses.
        reasons: why the spec refuses a point, by its number.
    """

    figures: dict[str, Any]
    reasons: dict[int, str]


class Evaluator:
    """Evaluation of points: by closed forms where the form of the program is known, one network for each elsewhere.

    Forms are made when enough points have the structure of one, and kept for later calls.

    Args:
        request: the source and its settings, which the values of the points replace.
        figures: names of :data:`FIGURES`.
        names: names of the dims and vars whose values are the columns.
    """

    def __init__(self, request: Request, figures: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.request = request
        self.figures = figures
        self.names = names
        self._points = Points(request, names, figures_of(request, figures), self._figures_at)
        self._chain = chain_of(request, figures) if set(figures) <= {*_COUNTS} else None

    @property
    def by_forms(self) -> int:
        """Number of the points so far whose figures closed forms of the whole network gave."""
        return self._points.by_forms

    def evaluate(self, columns: Mapping[str, Sequence[Any]]) -> Evaluated:
        """Return the figures of points whose values are columns, one list for each name."""
        found, reasons = self.arrays(columns)
        size = len(columns[self.names[0]]) if self.names else 0
        listed = {name: values.tolist() for name, values in found.items()}
        for place in reasons:
            for values in listed.values():
                values[place] = None
        return Evaluated(listed, [reasons.get(place) for place in range(size)] if reasons else [None] * size)

    def arrays(self, columns: Mapping[str, Any]) -> Arrays:
        """Return the figures of points whose values are columns, lists or arrays of NumPy, one for each name."""
        values = [columns[name] for name in self.names]
        size = len(values[0]) if values else 0
        whole = Results(len(self.figures), size)
        with _rare_collection():
            for start in range(0, size, _TOGETHER):
                part = slice(start, start + _TOGETHER)
                found = whole if size <= _TOGETHER else Results(len(self.figures), min(_TOGETHER, size - start))
                self._fill([listed[part] for listed in values], found)
                if found is not whole:
                    whole.take(start, found)
        return Arrays(dict(zip(self.figures, whole.columns, strict=True)), whole.reasons)

    def _fill(self, values: Sequence[Any], results: Results) -> None:
        """Write the figures of all points."""
        if self._chain is None or self._chain.has_failed:
            self._points.fill(values, results)
            return
        rest = Rest(self._chain.time)
        self._points.fill(values, results, rest)
        settings = [self._points.settings(values, place) for place in rest.places]
        with sketches_apart():
            counted = self._chain.figures(settings, self._figures_at)
        results.put_rows({place: row for place, row in zip(rest.places, counted, strict=True) if row is not None})
        for place, figures in zip(rest.places, counted, strict=True):
            if figures is None:
                self._points.single(values, place, results)

    def _figures_at(self, settings: Mapping[str, Any]) -> tuple[int, ...]:
        undefined = next((value for value in settings.values() if isinstance(value, Undefined)), None)
        if undefined is not None:
            raise NetcalcError(Diagnostic("E203", undefined))
        found = values_of(self.request.with_settings(settings), self.figures)
        return tuple(found[name] for name in self.figures)


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Let the collector of cycles run less often inside the block: what is kept for later points has many objects."""
    before = gc.get_threshold()
    if before[0]:  # 0 if it does not run at all
        gc.set_threshold(max(_OBJECTS, before[0]), max(_TURNS, before[1]), max(_TURNS, before[2]))
    try:
        yield
    finally:
        gc.set_threshold(*before)


def values_of(request: Request, figures: Collection[str]) -> dict[str, int]:
    """Return figures of the network of a request; NetcalcError if the spec refuses its settings."""
    values: dict[str, int] = {}
    if any(name in figures for name in _COUNTS):
        total = analyze(request.program).total
        values |= {name: integer(getattr(total, name)) for name in _COUNTS}
    if any(name in figures for name in _MEMORY):
        measured = _memory_of(request).measured({})
        values |= {name: read(measured.point) for name, read in _MEMORY.items()}
    return values


def _memory_of(request: Request) -> MemoryPoints:
    options = {name: option.default for name, option in options_of(MemoryOptions).items()}
    return MemoryPoints(request, options | {"bytes_from": "configuration"})  # type: ignore[arg-type]


def figures_of(request: Request, names: Sequence[str]) -> Callable[[Program], list[Dim]] | None:
    """Return the function that counts a program with symbols; None if figures are those of several programs."""
    has_memory = any(name in _MEMORY for name in names)
    if has_memory and request.with_caches() is not request:
        return None
    memory = _memory_of(request)

    def count(program: Program) -> list[Dim]:
        total = analyze(program).total
        point = memory.point_of(program, stored_weights(program), {}) if has_memory else None
        return [_MEMORY[name](point) if name in _MEMORY else getattr(total, name) for name in names]  # type: ignore[arg-type]

    return count
