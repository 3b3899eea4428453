"""Comparison of networks or of conventions: totals, operations, and layers matched by their paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import Cost, Figure, shown_totals
from netcalc.analysis.matching import COMPARED, Match, change, match_layers
from netcalc.analysis.notes import not_computed
from netcalc.analysis.summary import Totals
from netcalc.arguments import checked
from netcalc.diagnostics import Diagnostic
from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.results import Entry, Result, recorded
from netcalc.tensor_type import TensorType

__all__ = ["COMPARED", "Compared", "Comparison", "Match", "OperationMatch", "change", "compare", "ratio"]


class Compared(NamedTuple):
    """A figure of every network, with differences from the first and ratios to the first."""

    values: tuple[Dim, ...]
    """The figure of each network."""
    difference: tuple[Dim, ...]
    """The figure of each network after the first, minus the first's."""
    ratio: tuple[float | None, ...]
    """The figure of each network after the first, divided by the first one; null if that is zero or one is symbolic."""

    @classmethod
    def of(cls, values: Iterable[Dim]) -> Compared:
        """Return the comparison of a figure of each network."""
        first, *others = values = tuple(values)
        return cls(values, tuple(change(first, v) for v in others), tuple(ratio(first, v) for v in others))


@recorded("op", Entry("executions", "compared_executions"))
@dataclass(frozen=True, slots=True)
class OperationMatch:
    """An operation, summed over all its executions."""

    op: str
    executions: tuple[int, ...]
    """Number of executions in each network."""
    costs: tuple[Cost, ...]
    """Cost of all executions in each network."""

    @property
    def compared_executions(self) -> Compared:
        """Number of executions in each network."""
        return Compared.of(self.executions)

    def record_values(self) -> dict[str, Any]:
        """Return the figures that are compared."""
        return {figure.name: Compared.of(map(figure.of, self.costs)) for figure in COMPARED}

    @property
    def differs(self) -> bool:
        """True if the networks differ in the number of executions or in their cost."""
        return len({*self.executions}) > 1 or any(cost != self.costs[0] for cost in self.costs)


@recorded(
    *(Entry("specs", "names"), "convention", "conventions", "uncounted"),
    *(
        "same",
        "dtypes",
        "checkpoint_dtypes",
        "stored_as",
        "notes",
        "inputs",
        "outputs",
        Entry("totals", "compared_totals"),
    ),
    *(Entry("operations", "differing"), Entry("layers", "rows")),
    name="compare",
)
@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """Networks, or conventions by which one is counted, side by side; differences are relative to the first.

    ``depth`` and ``all`` say which layers are printed and recorded, see :meth:`rows`.
    """

    names: tuple[str, ...]
    """Names of the specs, one for each column."""
    conventions: tuple[str, ...]
    """Counting conventions of the work, one for each column."""
    uncounted: Mapping[str, tuple[str, ...]]
    """Operations whose work a convention does not count, by its name."""
    dtypes: tuple[DType, ...]
    """Element types of floating-point tensors, in which bytes are counted."""
    checkpoint_dtypes: tuple[DType | None, ...]
    """Element types of the published checkpoints; null where a spec names none."""
    stored_as: tuple[str, ...]
    """Schemes in which the checkpoints store parameters, in words; empty for the type alone."""
    notes: tuple[tuple[str, ...], ...]
    """Remarks on what is counted of each network."""
    inputs: tuple[Mapping[str, TensorType], ...]
    outputs: tuple[Mapping[str, TensorType], ...]
    totals: tuple[Totals, ...]
    operations: tuple[OperationMatch, ...]
    layers: tuple[Match, ...]
    depth: int | None = None
    all: bool = False
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)

    @property
    def convention(self) -> str | None:
        """Counting convention of the work; null if there are several."""
        return self.conventions[0] if len({*self.conventions}) == 1 else None

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the columns: names of the networks or of the conventions."""
        return self.conventions if self.convention is None else self.names

    @property
    def same(self) -> bool:
        """True if the networks have the same layers, of the same shapes and attributes."""
        return not any(match.differs for match in self.layers)

    @property
    def compared_totals(self) -> Mapping[str, Compared]:
        """Figures of the whole networks; a part such as `params_active` only if it differs from the whole somewhere."""
        return {figure.name: Compared.of(map(figure.of, self.totals)) for figure in self.shown_totals()}

    @property
    def differing(self) -> tuple[OperationMatch, ...]:
        """Operations that differ, or all of them."""
        return tuple(match for match in self.operations if self.all or match.differs)

    def shown_totals(self) -> list[Figure]:
        """Return the figures to show as totals; a part only if it differs from the whole in some network."""
        return shown_totals("compare", self.totals)

    @checked
    def rows(self, *, depth: int | None = None, all: bool = False) -> Iterator[Match]:
        """Layers that differ, or ``all`` of them: the innermost matches, or with a depth those at that depth.

        Figures times repeats, summed over all matches, are the totals. Differences times repeats, summed over the
        matches that differ, are the differences of the totals.
        """
        return _innermost(self.layers, depth or self.depth, all or self.all)


def compare(analyses: Sequence[Analysis], *, depth: int | None = None, all: bool = False) -> Comparison:
    """Compare two or more analyses: of programs under one convention, or of one under several.

    Args:
        analyses: the analyses.
        depth: number of parts of a path; layers with longer paths are compared as groups.
        all: True to print and record what does not differ, too.
    """
    programs = [analysis.program for analysis in analyses]
    names = [program.name for program in programs]
    conventions = tuple(analysis.convention.name for analysis in analyses)
    if len({*conventions}) == 1:
        names = [
            f"{name} ({names[:place].count(name) + 1})" if names.count(name) > 1 else name
            for place, name in enumerate(names)
        ]
    uncounted: dict[str, dict[str, None]] = {}
    for analysis in analyses:
        uncounted.setdefault(analysis.convention.name, {}).update(dict.fromkeys(analysis.uncounted))
    return Comparison(
        tuple(names),
        conventions,
        {convention: tuple(operations) for convention, operations in uncounted.items()},
        tuple(program.dtype for program in programs),
        tuple(program.checkpoint_dtype for program in programs),
        tuple(program.stored_as for program in programs),
        tuple((*a.program.notes, *not_computed(a.unknown, a.declared)) for a in analyses),
        tuple(program.input_types for program in programs),
        tuple(program.output_types for program in programs),
        tuple(Totals(analysis.total.values) for analysis in analyses),
        tuple(_operations(analyses)),
        match_layers([analysis.tree() for analysis in analyses]),
        depth,
        all,
        tuple(warning for program in programs for warning in program.warnings),
    )


def ratio(first: Dim, other: Dim) -> float | None:
    """Return ``other`` as a multiple of ``first``; None for symbolic figures, or if the first is zero."""
    return other / first if isinstance(first, int) and isinstance(other, int) and first else None


def _operations(analyses: Sequence[Analysis]) -> Iterator[OperationMatch]:
    by_network = [analysis.by_operation for analysis in analyses]
    absent = (0, Cost())
    for op in dict.fromkeys(op for operations in by_network for op in operations):
        uses = [operations.get(op, absent) for operations in by_network]
        yield OperationMatch(op, tuple(count for count, _ in uses), tuple(cost for _, cost in uses))


def _innermost(matches: Iterable[Match], depth: int | None, all_: bool) -> Iterator[Match]:
    for match in matches:
        if match.children and (depth is None or match.path.count(".") + 1 < depth):
            yield from _innermost(match.children, depth, all_)
        elif all_ or match.differs or None in match.layers:
            yield match
