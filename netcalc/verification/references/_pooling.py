"""Windows of pooling operations, as lists of positions."""

from __future__ import annotations

from collections.abc import Callable

from netcalc.verification.references import Attributes, Shape
from netcalc.verification.references._windows import pads_of, positions, starts


def pooled(op: Attributes, shape: Shape) -> tuple[Shape, Callable[[Shape], tuple[list[Shape], int]]]:
    """Return the shape of the result, and a function from a result's place to the elements of its window.

    The function returns the positions of the window in the input, and the number of positions in input or padding.
    """
    axes = len(op.kernel)
    lead, sizes = shape[:-axes], shape[-axes:]
    stride = tuple(k if s is None else s for k, s in zip(op.kernel, op.stride, strict=True))
    near = (1,) * axes
    pads = pads_of(op.padding, sizes, op.kernel, stride, near)
    every = zip(sizes, pads, op.kernel, stride, near, strict=True)
    places = [starts(*axis, ceil_mode=op.ceil_mode) for axis in every]

    def window(index: Shape) -> tuple[list[Shape], int]:
        corner = [place[i] for place, i in zip(places, index[len(lead) :], strict=True)]
        inner, padded = [], 0
        for position in positions(corner, op.kernel, near):
            inner += [position] if all(0 <= p < n for p, n in zip(position, sizes, strict=True)) else []
            padded += all(p < n + after for p, n, (_, after) in zip(position, sizes, pads, strict=True))
        return inner, padded

    return (*lead, *map(len, places)), window
