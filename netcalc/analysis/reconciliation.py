"""Reconciliation of two counting conventions: the groups of terms that make the difference of their totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.analysis.conventions import Part
from netcalc.analysis.cost import Analysis
from netcalc.analysis.figures import Phase
from netcalc.analysis.notes import not_computed
from netcalc.analysis.rows import Row
from netcalc.dims import Dim
from netcalc.ir import OpNode
from netcalc.results import Result, recorded

#: Unit of a total by the FLOPs of a multiply-add.
_UNITS = {1: "MAC", 2: "FLOP"}


class ReconciledLayer(NamedTuple):
    """A layer's part of a group."""

    path: str
    """Path of the layer, with the numbers of all instances of a repeated one."""
    difference: Dim
    """Work of all instances under the second convention minus that under the first."""
    executions: int
    """Number of operations that differ, over all instances."""


class ReconciledGroup(NamedTuple):
    """Work of one name in all operations of a kind, where the conventions differ in it."""

    phase: Phase
    """Part of a step of training: `forward`, `backward` or `update`."""
    op: str
    """Name of the operation; empty for the change of the unit."""
    term: str
    """Name of the work, that of the operation or of the rule of a convention."""
    executions: int
    """Number of operations that differ."""
    before: Dim
    """Work under the first convention, in the unit of the second."""
    after: Dim
    """Work under the second convention."""
    layers: tuple[ReconciledLayer, ...]
    """Parts of the group by layer; none without a depth."""

    @property
    def difference(self) -> Dim:
        """Work under the second convention minus that under the first."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class ReconciledTotal:
    """The work of a network as a convention counts it."""

    convention: str
    unit: str
    """MAC or FLOP."""
    figure: str
    """Name of the figure: `flops`, or `flops_total` with a backward pass."""
    work: Dim


@recorded("spec", "before", "after", "difference", "phases", "optimizer", "depth", "groups", "notes", name="reconcile")
@dataclass(frozen=True, slots=True)
class Reconciliation(Result):
    """Totals under two conventions, and the groups of terms whose differences add up to that of the totals."""

    spec: str
    """Name of the spec."""
    before: ReconciledTotal
    """The total under the first convention."""
    after: ReconciledTotal
    """The total under the second convention."""
    phases: tuple[Phase, ...]
    """Parts of a step of training that are counted."""
    optimizer: str | None
    """Name of the optimizer whose update is counted, if any."""
    depth: int | None
    """Number of parts of the paths of layers; null for groups without layers."""
    groups: tuple[ReconciledGroup, ...]
    """Groups, the largest difference first."""
    notes: tuple[str, ...]
    """Faults of the tools that the conventions reproduce, layers that are excluded, and work that is not known."""

    @property
    def difference(self) -> Dim:
        """The second total minus the first; where a unit changes, the difference of the two numbers."""
        return self.after.work - self.before.work


class _Change(NamedTuple):
    """Work of a term in the instances of an operation."""

    row: Row
    term: str
    before: Dim
    after: Dim

    @property
    def difference(self) -> Dim:
        return (self.after - self.before) * self.row.repeat


def reconcile(before: Analysis, after: Analysis, *, depth: int | None = None) -> Reconciliation:
    """Reconcile the costs of one program under two conventions.

    Args:
        before, after: the costs, of the same passes (:meth:`~netcalc.analysis.cost.Analysis.under`).
        depth: number of parts of the paths of layers; None for no layers.
    """
    groups: dict[tuple[Phase, str, str], list[_Change]] = {}
    per_mac = after.convention.per_mac
    macs: Dim = 0
    for row in after.counted_leaves():
        assert isinstance(row.node, OpNode)
        for phase in after.ordered_phases:
            parts = before.parts_of(row.node, phase)
            macs = macs + sum((part.macs for part in parts), 0) * row.repeat
            first = _work(parts, before.convention.per_mac, per_mac)
            second = _work(after.parts_of(row.node, phase), per_mac, per_mac)
            for term, old, new in _changes(first, second):
                groups.setdefault((phase, row.op, term), []).append(_Change(row, term, old, new))
    found = [_group(*key, changes, depth) for key, changes in groups.items()]
    if all(isinstance(group.difference, int) for group in found):
        found.sort(key=lambda group: -abs(int(group.difference)))
    return Reconciliation(
        after.program.name,
        _total(before),
        _total(after),
        after.ordered_phases,
        after.optimizer,
        depth,
        (*_change_of_unit(macs, before.convention.per_mac, per_mac), *found),
        tuple(dict.fromkeys([*_notes(before), *_notes(after)])),
    )


def _total(analysis: Analysis) -> ReconciledTotal:
    convention = analysis.convention
    figure = "flops" if analysis.backward is None else "flops_total"
    return ReconciledTotal(convention.name, _UNITS[convention.per_mac], figure, analysis.total.flops_total)


def _change_of_unit(macs: Dim, own: int, per_mac: int) -> Iterator[ReconciledGroup]:
    """Yield the group of multiply-adds that count more often, or less often, under the second convention."""
    if own != per_mac:
        text = f"1 MAC = {max(own, per_mac)} FLOPs"
        yield ReconciledGroup("forward", "", text, 1, macs * own, macs * per_mac, ())


def _work(parts: Iterable[Part], own: int, per_mac: int) -> dict[str, Dim]:
    """Return work by term, with ``per_mac`` for a multiply-add where the convention has ``own``."""
    work: dict[str, Dim] = {}
    for part in parts:
        work[part.name] = work.get(part.name, 0) + part.flops + part.macs * (per_mac - own)
    return work


def _changes(before: dict[str, Dim], after: dict[str, Dim]) -> Iterator[tuple[str, Dim, Dim]]:
    """Yield the terms that differ; equal work of two names is no difference."""
    differing = [term for term in {**before, **after} if before.get(term, 0) != after.get(term, 0)]
    gone = [term for term in differing if term not in after]
    for term in [term for term in differing if term not in before]:
        same = next((other for other in gone if before[other] == after[term]), None)
        if same is not None:
            gone.remove(same)
            differing = [other for other in differing if other not in (term, same)]
    for term in differing:
        yield term, before.get(term, 0), after.get(term, 0)


def _group(phase: Phase, op: str, term: str, changes: list[_Change], depth: int | None) -> ReconciledGroup:
    layers: dict[str, list[_Change]] = {}
    for change in changes:
        path = ".".join(change.row.title.split(".")[:depth])
        layers.setdefault(path, []).append(change)
    rows = (
        ReconciledLayer(path, _sum(change.difference for change in own), sum(change.row.repeat for change in own))
        for path, own in layers.items()
    )
    return ReconciledGroup(
        phase,
        op,
        term,
        sum(change.row.repeat for change in changes),
        _sum(change.before * change.row.repeat for change in changes),
        _sum(change.after * change.row.repeat for change in changes),
        () if depth is None else tuple(rows),
    )


def _sum(values: Iterable[Dim]) -> Dim:
    total: Dim = 0
    for value in values:
        total = total + value
    return total


def _notes(analysis: Analysis) -> Iterator[str]:
    yield from analysis.remarks
    if analysis.exclusions is not None:
        yield from (f"excluded: {part.pattern}" for part in analysis.exclusions.parts)
    yield from not_computed(analysis.unknown, analysis.declared)
