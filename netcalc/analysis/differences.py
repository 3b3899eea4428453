"""Differences of two networks: the layers, matched by path, whose parameters or work make that of the totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from netcalc.analysis.compare import Comparison, Match
from netcalc.analysis.conventions import convention_named
from netcalc.analysis.figures import FIGURES
from netcalc.diagnostics import Diagnostic
from netcalc.dims import Dim
from netcalc.ir import join
from netcalc.results import Entry, Result, recorded

#: Unit of work by the FLOPs of a multiply-add.
UNITS: dict[int, Literal["MAC", "FLOP"]] = {1: "MAC", 2: "FLOP"}


@recorded("before", "after", "difference")
@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of two networks."""

    before: Dim | None
    """The figure of the first network; null where it has no such layer."""
    after: Dim | None
    """The figure of the second network; null where it has no such layer."""

    @property
    def difference(self) -> Dim:
        """The figure of the second network minus that of the first; a missing layer counts as zero."""
        return (0 if self.after is None else self.after) - (0 if self.before is None else self.before)


class DifferentLayer(NamedTuple):
    """A layer whose parameters or work differ, or one of a single network; figures are those of all instances."""

    path: str
    """Path of the layer, with the numbers of all instances of a repeated one."""
    op: str
    """Name of the operation or block, that of the first network that has the layer."""
    repeat: int
    """Number of instances."""
    params: Difference
    work: Difference


class DifferentOperation(NamedTuple):
    """Parameters and work of all executions of an operation."""

    op: str
    """Name of the operation."""
    executions: Difference
    params: Difference
    work: Difference


class EqualLayers(NamedTuple):
    """Layers that both networks have at the same path, with equal parameters and work."""

    layers: int
    """Number of layers, over all instances."""
    params: Dim
    """Their parameters."""
    work: Dim
    """Their work."""


@recorded(
    *("specs", "convention", "unit", "depth", "params", "work"),
    *(Entry("layers", "differing"), "operations", "equal", "notes"),
    name="reconcile-models",
)
@dataclass(frozen=True, slots=True)
class NetworkReconciliation(Result):
    """Two networks, and the layers whose differences add up to those of the totals."""

    specs: tuple[str, ...]
    """Names of the two specs, with a number if they are equal."""
    convention: str
    """Counting convention of the work."""
    unit: Literal["MAC", "FLOP"]
    """Unit of the work: FLOP where a multiply-add counts as two."""
    depth: int | None
    """Number of parts of the paths; null for the innermost layers that both networks have."""
    params: Difference
    """Parameters of the networks."""
    work: Difference
    """Work of a forward pass."""
    differing: tuple[DifferentLayer, ...]
    """Layers that differ in parameters or work, or that one network alone has, the largest difference first."""
    operations: tuple[DifferentOperation, ...]
    """Operations that differ, the largest difference first."""
    equal: EqualLayers
    """Layers that do not differ, which with the others add up to the totals."""
    notes: tuple[str, ...]
    """Layers of one network without parameters and work, and work that is not known."""
    warnings: tuple[Diagnostic, ...] = field(default=(), repr=False)


def reconcile_networks(comparison: Comparison) -> NetworkReconciliation:
    """Reconcile the two networks of a comparison under one convention; its depth is that of the layers."""
    layers = [*_layers(comparison.layers, comparison.depth, "")]
    different = [layer for layer in layers if _differs(layer)]
    equal = [layer for layer in layers if not _differs(layer) and not _is_single(layer)]
    before, after = comparison.totals
    return NetworkReconciliation(
        comparison.names,
        comparison.conventions[0],
        UNITS[convention_named(comparison.conventions[0]).per_mac],
        comparison.depth,
        Difference(before.params, after.params),
        Difference(before.flops, after.flops),
        tuple(sorted(different, key=_size)),
        tuple(sorted(_operations(comparison), key=_size)),
        EqualLayers(
            sum(layer.repeat for layer in equal),
            _sum(layer.params.before for layer in equal),
            _sum(layer.work.before for layer in equal),
        ),
        (*_without_figures(comparison, layers), *_remarks(comparison)),
        comparison.warnings,
    )


def _layers(matches: Iterable[Match], depth: int | None, prefix: str) -> Iterator[DifferentLayer]:
    """Yield the innermost matches, or those at a depth, with the figures of all instances."""
    for match in matches:
        path = join(prefix, match.label)
        if match.children and (depth is None or match.path.count(".") + 1 < depth):
            yield from _layers(match.children, depth, path)
            continue
        op = next(layer.op for layer in match.layers if layer is not None)
        yield DifferentLayer(path, op, match.repeat, _of_all(match, "params"), _of_all(match, "flops"))


def _of_all(match: Match, figure: str) -> Difference:
    before, after = (None if value is None else value * match.repeat for value in match.figures(figure))
    return Difference(before, after)


def _differs(layer: DifferentLayer) -> bool:
    """Return True for a layer with a difference, or with figures in one network alone."""
    return layer.params.difference != 0 or layer.work.difference != 0


def _is_single(layer: DifferentLayer) -> bool:
    """Return True for a layer that one network alone has."""
    return layer.params.before is None or layer.params.after is None


def _operations(comparison: Comparison) -> Iterator[DifferentOperation]:
    for match in comparison.operations:
        executions = Difference(*match.executions)
        params, work = (Difference(*(FIGURES[name].of(cost) for cost in match.costs)) for name in ("params", "flops"))
        operation = DifferentOperation(match.op, executions, params, work)
        if any(figure.difference != 0 for figure in (executions, params, work)):
            yield operation


def _size(row: DifferentLayer | DifferentOperation) -> tuple[int, int]:
    """Return a key that sorts the largest differences first, those of parameters before those of work."""
    params, work = row.params.difference, row.work.difference
    return (
        -abs(params) if isinstance(params, int) else 0,
        -abs(work) if isinstance(work, int) else 0,
    )


def _without_figures(comparison: Comparison, layers: Iterable[DifferentLayer]) -> Iterator[str]:
    """Yield notes on the layers of one network that have neither parameters nor work."""
    free = [layer for layer in layers if not _differs(layer) and _is_single(layer)]
    for name, absent in zip(comparison.names, ("after", "before"), strict=True):
        count = sum(layer.repeat for layer in free if getattr(layer.params, absent) is None)
        if count:
            yield f"only {name} has {count:,} layer{'s' * (count != 1)} without parameters and work"


def _remarks(comparison: Comparison) -> Iterator[str]:
    for name, notes in zip(comparison.names, comparison.notes, strict=True):
        yield from (f"{name}: {note}" for note in notes)
    for convention, operations in comparison.uncounted.items():
        if operations:
            yield f"not counted by {convention}: {', '.join(operations)}"


def _sum(values: Iterable[Dim | None]) -> Dim:
    total: Dim = 0
    for value in values:
        total = total if value is None else total + value
    return total
