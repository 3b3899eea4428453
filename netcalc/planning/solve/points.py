"""Networks at values of the unknowns, counted one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import FIGURES
from netcalc.analysis.own_figures import own_figures
from netcalc.arguments import options_of
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, integer
from netcalc.options import MemoryOptions, TimeOptions
from netcalc.planning.points import MemoryPoints
from netcalc.planning.solve.conditions import Number
from netcalc.request import Request
from netcalc.solve_options import LawAsked, SolveOptions

#: Figures of costs, by the name that conditions give them.
COSTS = {"params": "params", "macs": "macs", "flops": "flops", "macts": "macts", "weights": "weight_bytes"} | {
    "non_embedding": "non_embedding"
}
#: Figures of both passes, where a backward pass is counted.
_BOTH = {"macs": "macs_total", "flops": "flops_total"}
#: Figure of parameters without those of embeddings, as netcalc's convention defines it.
NON_EMBEDDING = "non_embedding"
#: Figures of the memory of a run.
MEMORY = ("cache", "activations", "memory")

#: Function that counts the work of a request.
Counts = Callable[[Request], Analysis]


def cost_in(analysis: Analysis, figure: str) -> Dim:
    """Return a figure of costs of a network; work of both passes where a backward pass is counted.

    Raises:
        NetcalcError: E502 for parameters without embeddings of a network that has no such figure.
    """
    if figure == NON_EMBEDDING:
        own = {each.name: each.value for each in own_figures(analysis.under("netcalc"), "params")}
        if figure not in own:
            message = (
                f"{analysis.program.name} has no parameters without embeddings: it has no vocabulary, or --exclude"
            )
            raise NetcalcError(Diagnostic("E502", f"{message} leaves layers out"))
        return own[figure]
    name = _BOTH.get(figure, figure) if "backward" in analysis.phases else figure
    return FIGURES[COSTS.get(name, name)].of(analysis.total)


class Point(NamedTuple):
    """A network at values of the unknowns.

    Attributes:
        refused: why the spec does not have it; empty if it does.
        figures: its figures.
    """

    refused: str
    figures: Mapping[str, Number]


class Points:
    """Networks at values of the unknowns, each counted once.

    Attributes:
        counted: number of networks that were counted.
    """

    def __init__(
        self, request: Request, names: Sequence[str], figures: Sequence[str], options: SolveOptions, counts: Counts
    ) -> None:
        self.request = request
        self.counted = 0
        self._names = names
        self._figures = figures
        self._counts = counts
        self._known: dict[tuple[Any, ...], Point] = {}
        given: Mapping[str, Any] = options
        self._memory, self._time = (
            {
                name: option.default if name in options_of(LawAsked) else given.get(name, option.default)
                for name, option in options_of(group).items()
            }
            for group in (MemoryOptions, TimeOptions)
        )
        self._measure = MemoryPoints(request, cast("MemoryOptions", self._memory)) if {*MEMORY} & {*figures} else None

    def at(self, values: Sequence[Any]) -> Point:
        """Return the network at values of the unknowns."""
        key = tuple(values)
        if key not in self._known:
            self.counted += 1
            settings = dict(zip(self._names, values, strict=True))
            request = self.request.with_settings(settings)
            try:
                request.program  # noqa: B018 - for its errors
            except NetcalcError as error:
                self._known[key] = Point(" ".join(error.diagnostics[0].message.split()), {})
            else:
                self._known[key] = Point("", self._measured(request, settings))
        return self._known[key]

    def _measured(self, request: Request, settings: Mapping[str, Any]) -> dict[str, Number]:
        found: dict[str, Number] = {}
        analysis = self._counts(request)
        for name in self._figures:
            if name in COSTS:
                found[name] = integer(cost_in(analysis, name))
            elif name not in MEMORY and name != "time":
                value = {**request.program.dims, **request.program.vars}[name]
                found[name] = value
        if self._measure is not None:
            point = self._measure.measured_of(request, settings).point
            measured = {
                "cache": next(iter(point.caches.values()), 0),
                "activations": point.activations or 0,
                "memory": point.total or 0,
            }
            found |= {name: value for name, value in measured.items() if name in self._figures}
        if "time" in self._figures:
            from netcalc.planning.time import time_of

            found["time"] = time_of(request, cast("TimeOptions", self._time)).seconds
        return found
