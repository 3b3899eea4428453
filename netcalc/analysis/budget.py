"""Budgets of a network: limits of its figures, and what exceeds them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import Cost
from netcalc.dims import Dim, integer
from netcalc.results import Result, recorded

#: What a budget limits: numbers of parameters, multiply-adds, operations and elements of outputs, and bytes.
Limited: TypeAlias = Literal["params", "macs", "flops", "macts", "weights", "activations", "memory"]


#: Parts that are named of a figure which exceeds its limit.
_SHOWN = 5


class HeavyPart(NamedTuple):
    """A layer, or a tensor at the peak of the activations, that weighs much in a figure."""

    path: str
    op: str
    """Name of the operation; empty for a tensor."""
    counted: int
    """The figure of all instances; against a record the growth."""
    repeat: int
    """Number of instances."""


def layers_of(analysis: Analysis, figure: Callable[[Cost], Dim]) -> Iterator[HeavyPart]:
    """Yield the layers of a network with a figure of all their instances."""
    for row in analysis.leaves():
        yield HeavyPart(row.path, row.op, integer(figure(row.cost)) * row.repeat, row.repeat)


def heaviest(parts: Iterable[HeavyPart]) -> tuple[HeavyPart, ...]:
    """Return the parts that weigh most, the heaviest first."""
    return tuple(heapq.nlargest(_SHOWN, (part for part in parts if part.counted > 0), key=lambda part: part.counted))


class BudgetRow(NamedTuple):
    """A figure with its limit."""

    figure: str
    """Name of the figure: one that a budget limits, or a total of the record."""
    counted: int
    limit: int
    ok: bool
    source: str
    """Origin of the limit: an option, the spec, or the record with what is allowed."""
    heaviest: tuple[HeavyPart, ...]
    """Parts that weigh most, the heaviest first, of a figure that exceeds its limit."""

    @property
    def excess(self) -> int:
        """The figure without its limit: negative for what is left."""
        return self.counted - self.limit


@recorded("spec", "convention", "ok", "rows", name="budget")
@dataclass(frozen=True, slots=True)
class BudgetReport(Result):
    """Figures of a network with their limits."""

    spec: str
    """Name of the spec."""
    convention: str
    """Counting convention of the work."""
    rows: tuple[BudgetRow, ...]

    @property
    def ok(self) -> bool:
        """True if nothing exceeds its limit."""
        return all(row.ok for row in self.rows)
