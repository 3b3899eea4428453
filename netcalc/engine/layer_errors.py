"""Errors of rounded parameters by layer, or by part of the network; equal layers of a repeat are one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netcalc.analysis.folding import folded
from netcalc.engine.layer_gradients import names_of
from netcalc.ir import Node, OpNode, Program, join
from netcalc.numerics.rounding.deviation import Deviation
from netcalc.results import Entry, Real, recorded


class StoredParameter(NamedTuple):
    """A parameter as it is stored, and its deviation; ``kept`` is the reason if it is not stored as assigned."""

    path: str
    scheme: str
    is_rounded: bool
    elements: int
    bytes: int
    kept: str
    deviation: Deviation


class OperationError(NamedTuple):
    """An operation with its own parameters, and the deviation of its outputs."""

    path: str
    op: str
    parameters: tuple[StoredParameter, ...]
    output: Deviation


@recorded(
    *("path", "op", "instances", "schemes", "elements", "bytes", "weight_error"),
    *("error", "max_error", "decibels", Entry("cosine", "output.cosine"), "least", "greatest"),
)
class LayerError(NamedTuple):
    """The output of a layer, or of equal layers of a repeat, with their parameters."""

    path: str
    """Path, with the numbers of all instances."""
    op: str
    """The operation; empty for several."""
    instances: int
    """Number of equal layers that the entry stands for."""
    schemes: tuple[str, ...]
    """The schemes of the rounded parameters, else of all, with the pattern or the share of what is removed."""
    elements: int
    """Elements of the parameters."""
    bytes: int
    """Bytes of the stored parameters."""
    weights: Deviation
    """Deviation of the rounded parameters of all instances together."""
    output: Deviation
    """Deviation of the outputs of all instances together."""
    least: Real
    """Error of the instance with the smallest one."""
    greatest: Real
    """Error of the instance with the largest one."""

    @property
    def error(self) -> Real:
        """Root mean square of the differences, over that of the values in full precision."""
        return self.output.relative

    @property
    def weight_error(self) -> Real:
        """Root mean square of the differences of the rounded parameters, over that of these in full precision."""
        return self.weights.relative

    @property
    def decibels(self) -> Real:
        """Ratio of signal to noise of the outputs."""
        return self.output.decibels

    @property
    def max_error(self) -> Real:
        """Greatest absolute error of an element of the outputs."""
        return self.output.greatest

    @property
    def bits(self) -> float | None:
        """Stored bits for each element of the parameters."""
        return 8 * self.bytes / self.elements if self.elements else None


class KeptParameters(NamedTuple):
    """Parameters that are stored otherwise than assigned, most of them in full precision."""

    reason: str
    scheme: str
    """The scheme that they are stored by: that of their element type for full precision."""
    tensors: int
    elements: int
    bytes: int
    paths: tuple[str, ...]


class _Row(NamedTuple):
    label: str
    node: OpNode
    paths: Sequence[str]


def layer_errors(
    program: Program, operations: Sequence[OperationError], *, depth: int | None = None, unroll: bool = False
) -> tuple[LayerError, ...]:
    """Return a row for each layer with parameters, or for all that is below each path of ``depth`` parts."""
    measured = {operation.path: operation for operation in operations}
    groups: dict[str, list[_Row]] = {}
    for row in _reported_operations(program.main.nodes, "", [""], unroll=unroll):
        if depth is not None or any(measured[path].parameters for path in row.paths):
            groups.setdefault(_cut_path(row.label, depth), []).append(row)
    return tuple(_error(path, rows, measured, depth) for path, rows in groups.items())


def kept_parameters(operations: Sequence[OperationError]) -> tuple[KeptParameters, ...]:
    """Return the parameters that are stored otherwise than assigned, by reason and scheme."""
    groups: dict[tuple[str, str], dict[str, StoredParameter]] = {}
    for operation in operations:
        for parameter in operation.parameters:
            if parameter.kept:
                groups.setdefault((parameter.kept, parameter.scheme), {})[parameter.path] = parameter
    return tuple(
        KeptParameters(
            reason,
            scheme,
            len(members),
            sum(parameter.elements for parameter in members.values()),
            sum(parameter.bytes for parameter in members.values()),
            tuple(members),
        )
        for (reason, scheme), members in groups.items()
    )


def _reported_operations(nodes: Sequence[Node], label: str, prefixes: Sequence[str], *, unroll: bool) -> Iterator[_Row]:
    """Yield the operations in order: the path that a report prints, and the path of each instance."""
    for each in folded(nodes, unroll=unroll):
        path = join(label, each.label)
        paths = [join(prefix, name) for prefix in prefixes for name in names_of(each)]
        if isinstance(each.node, OpNode):
            yield _Row(path, each.node, paths)
        else:
            yield from _reported_operations(each.node.body.nodes, path, paths, unroll=unroll)


def _cut_path(path: str, depth: int | None) -> str:
    return path if depth is None else ".".join(path.split(".")[:depth])


def _error(path: str, rows: Sequence[_Row], measured: dict[str, OperationError], depth: int | None) -> LayerError:
    parameters = {
        parameter.path: parameter for row in rows for each in row.paths for parameter in measured[each].parameters
    }
    changed = [parameter for parameter in parameters.values() if parameter.is_rounded]
    last = rows[-1]
    outputs = list({_cut_path(each, depth): measured[each].output for each in last.paths}.values())
    errors = [output.relative for output in outputs]
    return LayerError(
        path,
        last.node.op.name if last.label == path else "",
        len(outputs),
        tuple(dict.fromkeys(parameter.scheme for parameter in changed or parameters.values())),
        sum(parameter.elements for parameter in parameters.values()),
        sum(parameter.bytes for parameter in parameters.values()),
        Deviation.together(parameter.deviation for parameter in changed or parameters.values()),
        Deviation.together(outputs),
        min(errors),
        max(errors),
    )
