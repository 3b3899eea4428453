"""Gradients of the parameters of each layer, measured; equal layers of a repeat are one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from netcalc.analysis.folding import Instances, folded
from netcalc.arrays import Array
from netcalc.ir import Node, OpNode, Program, join
from netcalc.results import Real

#: Elements that are squared at a time, in float64.
_PART = 1 << 20


class LayerGradient(NamedTuple):
    """The gradients of a layer, of equal layers of a repeat, or of an input; numbers that are not finite are text."""

    path: str
    """Path, with the numbers of all instances."""
    op: str
    """The operation; input for an input."""
    instances: int
    """Number of equal layers that the entry stands for."""
    elements: int
    norm: Real
    """Norm of the gradients of all instances together."""
    least: Real
    """Norm of the instance with the smallest gradient."""
    greatest: Real
    """Norm of the instance with the largest gradient."""
    absmax: Real
    """The greatest absolute value."""


def layer_gradients(
    program: Program, parameters: Mapping[str, Array], inputs: Mapping[str, Array], *, unroll: bool = False
) -> tuple[LayerGradient, ...]:
    """Return a row for each layer with a gradient, and for each input; with ``unroll`` one for every instance.

    ``parameters`` are the gradients by path of the owner of the tensor, ``inputs`` those by name.
    """
    rows = [_layer_gradient(name, "input", [[gradient]]) for name, gradient in inputs.items()]
    for path, node, paths in _layers(program.main.nodes, "", [""], unroll=unroll):
        own = [[parameters[name] for p in node.params if (name := join(each, p.name)) in parameters] for each in paths]
        if any(own):
            rows.append(_layer_gradient(path, node.op.name, [tensors for tensors in own if tensors]))
    return tuple(rows)


def norm_of(*gradients: Array) -> float:
    """Return the root of the sum of all squares, added up in float64."""
    total = 0.0
    for gradient in gradients:
        flat = gradient.reshape(-1)
        for start in range(0, flat.size, _PART):
            part = flat[start : start + _PART].astype(np.float64)
            total += float(np.vdot(part, part))
    return sqrt(total)


def _layers(
    nodes: Sequence[Node], label: str, prefixes: Sequence[str], *, unroll: bool
) -> Iterator[tuple[str, OpNode, list[str]]]:
    """Yield the operations with parameters in order: the path that a report prints, and the path of each instance."""
    for instances in folded(nodes, unroll=unroll):
        path = join(label, instances.label)
        paths = [join(prefix, name) for prefix in prefixes for name in names_of(instances)]
        if not isinstance(instances.node, OpNode):
            yield from _layers(instances.node.body.nodes, path, paths, unroll=unroll)
        elif instances.node.params:
            yield path, instances.node, paths


def names_of(instances: Instances) -> Iterator[str]:
    """Yield the relative path of each instance; instances that share their weights have one path."""
    if instances.numbers is None:
        yield instances.name
        return
    for first, last in instances.numbers.spans():
        yield from (instances.named(str(number)) for number in range(first, last + 1))


def _layer_gradient(path: str, op: str, instances: Sequence[Sequence[Array]]) -> LayerGradient:
    norms = [norm_of(*tensors) for tensors in instances]
    gradients = [gradient for tensors in instances for gradient in tensors]
    return LayerGradient(
        path,
        op,
        len(instances),
        sum(gradient.size for gradient in gradients),
        sqrt(sum(norm * norm for norm in norms)),
        min(norms),
        max(norms),
        max(float(np.abs(gradient).max(initial=0)) for gradient in gradients),
    )
