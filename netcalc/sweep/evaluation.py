"""Figures of the points of a sweep, in columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from netcalc.analysis.cost import analyze
from netcalc.analysis.memory_table import MemoryPoint
from netcalc.arguments import options_of
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.options import MemoryOptions
from netcalc.planning.points import MemoryPoints
from netcalc.request import Request
from netcalc.sweep.plan import Undefined

#: Figures of work and parameters, under netcalc's convention.
_COUNTS = ("params", "macs", "flops")
#: Figures of memory, in bytes, as the table of ``memory --over`` has them.
_MEMORY: Mapping[str, Callable[[MemoryPoint], int | None]] = {
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


class Evaluated(NamedTuple):
    """Figures of some points.

    Attributes:
        figures: values by name, None for points that the spec refuses.
        reasons: why the spec refuses a point, in a line; None for the others.
    """

    figures: dict[str, list[int | None]]
    reasons: list[str | None]


@dataclass
class Evaluator:
    """Evaluation of points: one network for each.

    Attributes:
        request: the source and its settings, which the values of the points replace.
        figures: names of :data:`FIGURES`.
        names: names of the dims and vars whose values are the columns.
    """

    request: Request
    figures: tuple[str, ...]
    names: tuple[str, ...]

    def evaluate(self, columns: Mapping[str, Sequence[Any]]) -> Evaluated:
        """Return the figures of points whose values are columns, one list for each name."""
        figures: dict[str, list[int | None]] = {name: [] for name in self.figures}
        reasons: list[str | None] = []
        for values in zip(*(columns[name] for name in self.names), strict=True):
            try:
                point: Mapping[str, int | None] = self._at(dict(zip(self.names, values, strict=True)))
                reasons.append(None)
            except NetcalcError as error:
                point = {}
                reasons.append(reason(error.diagnostics[0]))
            for name, listed in figures.items():
                listed.append(point.get(name))
        return Evaluated(figures, reasons)

    def _at(self, settings: Mapping[str, Any]) -> dict[str, int | None]:
        undefined = next((value for value in settings.values() if isinstance(value, Undefined)), None)
        if undefined is not None:
            raise NetcalcError(Diagnostic("E203", undefined))
        request = self.request.with_settings(settings)
        values: dict[str, int | None] = {}
        if any(name in self.figures for name in _COUNTS):
            total = analyze(request.program).total
            values |= {name: integer(getattr(total, name)) for name in _COUNTS}
        if any(name in self.figures for name in _MEMORY):
            options = {name: option.default for name, option in options_of(MemoryOptions).items()}
            measured = MemoryPoints(request, options | {"bytes_from": "configuration"}).measured({})  # type: ignore[arg-type]
            values |= {name: read(measured.point) for name, read in _MEMORY.items()}
        return values


def reason(problem: Diagnostic) -> str:
    """Return a diagnostic in a line, without the remark that a value is given."""
    return f"{problem.code}: {' '.join(problem.message.split())}".replace(" (--set)", "")
