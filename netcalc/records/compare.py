"""Record of ``compare``: totals, operations and layers of networks side by side.

Totals, operations and layers have the figures that :mod:`netcalc.analysis.figures` declares for ``compare``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from typing_extensions import TypedDict

from netcalc.analysis.compare import COMPARED, Comparison, Match, OperationMatch, change, ratio
from netcalc.analysis.summary import Layer
from netcalc.dims import Dim
from netcalc.records import schema_id
from netcalc.records.summary import InstancesRecord, instances_record
from netcalc.records.values import Count, Shape, TensorRecord, attribute, count, shapes, tensor
from netcalc.version import __version__

__all__ = ["ComparisonRecord", "comparison_record"]


class ComparedValues(TypedDict):
    """A figure of every network, with differences from the first and ratios to the first."""

    values: list[Count]
    """The figure of each network."""
    difference: list[Count]
    """The figure of each network after the first, minus that of the first."""
    ratio: list[float | None]
    """The figure of each network after the first, divided by the first one; null if that is zero or one is symbolic."""


class ComparedTotals(TypedDict):
    """Figures of the whole networks; a part such as `params_active` only if it differs from the whole somewhere."""


class ComparedOperation(TypedDict):
    """An operation, summed over all its executions."""

    op: str
    executions: ComparedValues


class ComparedLayer(TypedDict):
    """An instance of a layer in one network."""

    op: str
    inputs: list[Shape]
    outputs: list[Shape]


class ComparedDifference(TypedDict):
    """Each figure of the networks after the first, minus that of the first; a missing layer counts as zero."""


class ComparedMatch(TypedDict):
    """Layers at one path."""

    path: str
    """Path of the first instance."""
    repeat: int
    """Number of instances."""
    instances: list[InstancesRecord]
    """Numbers of the instances, for each numbered part of the path with several of them; the outermost first."""
    layers: list[ComparedLayer | None]
    """The layer of each network, null where it has none."""
    attributes: dict[str, list[Any]]
    """Attributes of the operation that differ."""
    difference: ComparedDifference


class ComparisonRecord(TypedDict):
    """Networks side by side; differences are relative to the first."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    specs: list[str]
    """Names of the specs."""
    convention: str
    """Counting convention of the work."""
    same: bool
    """True if the networks have the same layers, of the same shapes and attributes."""
    inputs: list[dict[str, TensorRecord]]
    outputs: list[dict[str, TensorRecord]]
    totals: ComparedTotals
    operations: list[ComparedOperation]
    """Operations that differ, or all of them."""
    layers: list[ComparedMatch]
    """Layers that differ, or all of them."""


def comparison_record(
    comparison: Comparison, layers: Iterable[Match] | None = None, *, all: bool = False
) -> ComparisonRecord:
    """Return the record of a comparison.

    Args:
        layers: the matches to include; by default those of :meth:`~netcalc.analysis.compare.Comparison.rows`.
        all: True to include operations, and by default layers, that do not differ.
    """
    if layers is None:
        layers = comparison.rows(all=all)
    totals = {
        figure.name: _values([figure.of(totals) for totals in comparison.totals])
        for figure in comparison.shown_totals()
    }
    return {
        "schema": schema_id("compare"),
        "netcalc": __version__,
        "specs": list(comparison.names),
        "convention": comparison.convention,
        "same": comparison.same,
        "inputs": [{name: tensor(type_) for name, type_ in types.items()} for types in comparison.inputs],
        "outputs": [{name: tensor(type_) for name, type_ in types.items()} for types in comparison.outputs],
        "totals": cast("ComparedTotals", totals),
        "operations": [_operation(match) for match in comparison.operations if all or match.differs],
        "layers": [_match(match) for match in layers],
    }


def _operation(match: OperationMatch) -> ComparedOperation:
    figures = {figure.name: _values([figure.of(cost) for cost in match.costs]) for figure in COMPARED}
    return cast("ComparedOperation", {"op": match.op, "executions": _values(match.executions), **figures})


def _match(match: Match) -> ComparedMatch:
    difference = {figure.name: _differences(match.figures(figure.name)) for figure in COMPARED}
    return {
        "path": match.path,
        "repeat": match.repeat,
        "instances": [instances_record(prefix, numbers) for prefix, numbers in match.ranges],
        "layers": [None if layer is None else _layer(layer) for layer in match.layers],
        "attributes": {name: [attribute(value) for value in values] for name, values in match.attributes.items()},
        "difference": cast("ComparedDifference", difference),
    }


def _layer(layer: Layer) -> ComparedLayer:
    figures = {figure.name: count(figure.of(layer)) for figure in COMPARED}
    fixed = {"op": layer.op, "inputs": shapes(layer.inputs), "outputs": shapes(layer.outputs)}
    return cast("ComparedLayer", fixed | figures)


def _values(values: Sequence[Dim]) -> ComparedValues:
    return {
        "values": [count(value) for value in values],
        "difference": _differences(values),
        "ratio": [ratio(values[0], value) for value in values[1:]],
    }


def _differences(values: Sequence[Dim | None]) -> list[Count]:
    return [count(change(values[0], value)) for value in values[1:]]
