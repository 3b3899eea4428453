"""Total size of a network: bytes of its inputs, parameters, buffers and activations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from netcalc.analysis.cost import Analysis
from netcalc.dims import Dim
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import OpNode
from netcalc.tensor_type import TensorType


class Sizes(NamedTuple):
    """Bytes of a network, of everything that a forward pass reads and makes, if nothing is freed."""

    inputs: Dim
    """Bytes of the inputs."""
    parameters: Dim
    """Bytes of the parameters, as they are stored."""
    buffers: Dim
    """Bytes of the buffers."""
    activations: Dim
    """Bytes of the results of all operations; a view of another tensor has none of its own."""
    total: Dim
    """Sum of these."""


def sizes_of(analysis: Analysis) -> Sizes:
    """Return the total size of a network, in bytes."""
    inputs = _bytes(spec.type for spec in analysis.program.inputs)
    weights, buffers = analysis.total.weight_bytes, analysis.total.buffer_bytes
    activations: Dim = 0
    for size in activation_bytes(analysis).values():
        activations += size
    return Sizes(inputs, weights, buffers, activations, inputs + weights + buffers + activations)


def activation_bytes(analysis: Analysis) -> dict[str, Dim]:
    """Return the bytes of the results of all operations by their names, in order of first use; views have none."""
    sizes: dict[str, Dim] = {}
    for row in analysis.leaves():
        if isinstance(row.node, OpNode) and not row.node.op.view:
            sizes[row.op] = sizes.get(row.op, 0) + _bytes(row.node.output_types) * row.repeat
    return sizes


def _bytes(types: Iterable[TensorType]) -> Dim:
    total: Dim = 0
    for type_ in types:
        total += type_.elements * ITEMSIZE[type_.dtype]
    return total
