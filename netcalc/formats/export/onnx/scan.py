"""Recurrences over the positions of a sequence, as Scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Body, Tensor

#: New states and what the position gives, from the states before and what the sequences hold at the position.
Step: TypeAlias = Callable[[Emitter, list[Tensor], list[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]]


class Sequenced(NamedTuple):
    """A tensor whose slices along an axis are read one after the other."""

    tensor: Tensor
    axis: int

    @property
    def length(self) -> Dim:
        """Number of positions."""
        size: Dim = self.tensor.shape[self.axis]
        return size


def scan(
    graph: Emitter,
    states: Sequence[Tensor],
    sequences: Sequence[Sequenced],
    step: Step,
    axes: Sequence[int] = (0,),
    *,
    backwards: bool = False,
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the last states, and what the positions give, stacked along ``axes``.

    ``step`` writes the body.  It may read other values of the graph, but makes no parameter that was not read before.
    """
    inner = graph.inner()
    inner.sizes = graph.sizes.inner()
    before = [Tensor(graph.unique(f"{state.name}_state"), state.type) for state in states]
    items = [_item(graph, sequence) for sequence in sequences]
    after, given = (list(made) for made in step(inner, before, items))
    # each result of a body is a value of its own, and none of its inputs
    results = [inner.node("Identity", [value], value.type) for value in (*after, *given)]
    length = sequences[0].length
    stacked = [
        value.type.with_shape(*value.shape[:axis], length, *value.shape[axis:])
        for value, axis in zip(given, axes, strict=True)
    ]
    made = graph.nodes_of(
        "Scan",
        [*states, *(sequence.tensor for sequence in sequences)],
        [*(state.type for state in states), *stacked],
        body=Body(inner, [*before, *items], results),
        num_scan_inputs=len(sequences),
        scan_input_axes=[sequence.axis for sequence in sequences],
        scan_input_directions=[int(backwards)] * len(sequences),
        scan_output_axes=list(axes),
        scan_output_directions=[int(backwards)] * len(given),
    )
    return made[: len(states)], made[len(states) :]


def _item(graph: Emitter, sequence: Sequenced) -> Tensor:
    shape = [size for axis, size in enumerate(sequence.tensor.shape) if axis != sequence.axis]
    return Tensor(graph.unique(f"{sequence.tensor.name}_item"), sequence.tensor.type.with_shape(*shape))
