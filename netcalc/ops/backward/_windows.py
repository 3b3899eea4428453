"""Work and saved tensors that the backward passes of windowed products share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, maximum, product
from netcalc.dtypes import ITEMSIZE, DType
from netcalc.opdef import Term
from netcalc.ops._windows import SpatialOperation
from netcalc.ops.backward import BackwardCall, Saved


def saved_weight(call: BackwardCall) -> Saved:
    """Return the weight as a saved tensor: the input that another line computes, or the parameter."""
    return call.saved_input("weight", 1) if call.present(1) else call.saved_parameter("weight", "weight")


def saved_indices(call: BackwardCall) -> Saved:
    """Return the indices of maxima: the second output if there is one, or a tensor that the kernel keeps."""
    if len(call.outputs) > 1:
        return call.saved_output("result1", 1)
    return call.saved_kept("result1", *call.outputs[0].shape, dtype="int64")


def single_or_wider(dtype: DType) -> DType:
    """Return the element type of statistics: float32 for the half precisions, else the type itself."""
    return dtype if ITEMSIZE[dtype] > 2 else "float32"


def bias_gradient(op: SpatialOperation, call: BackwardCall) -> Term:
    """Return the additions of the gradient over samples and positions."""
    y = call.outputs[0]
    positions = op.batch_of(y) * product(op.sizes_of(y))
    return Term.of("add", "gradient of bias", positions_less_one=positions - 1, out_channels=op.channels_of(y))


def padding_gradient(
    lead: Dim, sizes: Sequence[Dim], padded: Sequence[Dim], pads: Sequence[tuple[Any, Any]], order: Sequence[int] = ()
) -> list[Term]:
    """Return the additions of the gradient of repeated elements to the elements that they repeat.

    Axis after axis loses its padding: one addition for each element of it.

    Args:
        lead: number of elements of the axes without padding.
        order: the axes in the order in which they lose their padding; by default the given one.
    """
    shape, terms = list(padded), []
    for axis in order or range(len(sizes)):
        before, after = pads[axis]
        repeated = maximum(before, 0) + maximum(after, 0)
        others = product(size for number, size in enumerate(shape) if number != axis)
        shape[axis] = sizes[axis]
        if repeated != 0:
            terms.append(Term.of("add", "gradient of padding", lead=lead, others=others, padding=repeated))
    return terms
