"""Small tensors that a spec writes itself: a number, a list, or a mask."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from netcalc.dtypes import FLOATS, largest
from netcalc.formats.graph.model import Line, Value
from netcalc.formats.onnx.known import Known, number
from netcalc.tensor_type import TensorType

#: Most numbers that a spec lists, and fewest that tell learned ones from computed ones.
_LISTED, _TELLING = 256, 8


def constant_lines(known: Known, line: Line, *, is_mask: bool) -> list[Line] | None:
    """Return lines that make a tensor in place of the one that reads it; None for one that is not short.

    Of a tensor that is only added before a softmax (``is_mask``) the lowest number counts as −∞.
    """
    elements, shape, dtype = known.elements, known.shape, known.dtype
    if not elements:
        return None
    if all(element == elements[0] for element in elements):
        attributes = {"value": number(elements[0], dtype), "shape": list(shape), "dtype": dtype}
        return [Line("constant", attributes, (), line.outputs, line.scope)]
    if len(shape) > 1 and _is_causal(known, largest(dtype) if is_mask else inf):
        rows, columns = shape[-2:]
        mask = Value(TensorType((rows, columns), dtype), "mask")
        attributes = {"queries": rows, "keys": columns, "dtype": dtype}
        if len(shape) == 2:
            return [Line("causal_mask", attributes, (), line.outputs, line.scope)]
        spread = Line("expand", {"shape": list(shape)}, (mask,), line.outputs, line.scope)
        return [Line("causal_mask", attributes, (), (mask,), line.scope), spread]
    if len(elements) > _LISTED:
        return None
    return [Line("constant", {"value": known.nested(), "dtype": dtype}, (), line.outputs, line.scope)]


def is_learned(known: Known) -> bool:
    """Return True for fractions in no order, as training leaves them, and not frequencies, slopes, positions or masks.

    Computed tables rise, fall, or repeat a few numbers; that many drawn numbers practically never do.
    """
    elements = known.elements
    if known.dtype not in FLOATS or len(elements) < _TELLING or 2 * len(set(elements)) < len(elements):
        return False
    rises = [after > before for before, after in pairwise(elements)]
    return any(rises) and not all(rises)


def _is_causal(known: Known, limit: float) -> bool:
    """Return True for a mask with zeros up to the diagonal, and −∞, or a number that is as low, above it."""
    rows, columns = known.shape[-2:]
    return columns > 1 and all(
        element == 0 if place % columns <= place // columns % rows else element <= -limit
        for place, element in enumerate(known.elements)
    )
