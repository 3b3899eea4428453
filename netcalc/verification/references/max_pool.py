"""References of :mod:`netcalc.ops.max_pool`."""

from __future__ import annotations

import math

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference
from netcalc.verification.references._windows import pads_of, positions_inside, starts


@reference("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(op: Attributes, x: Array) -> Expected | tuple[Expected, ...]:
    axes = len(op.kernel)
    lead, sizes = x.shape[:-axes], x.shape[-axes:]
    stride = tuple(k if s is None else s for k, s in zip(op.kernel, op.stride, strict=True))
    pads = pads_of(op.padding, sizes, op.kernel, stride, op.dilation)
    places = [
        starts(*axis, ceil_mode=op.ceil_mode) for axis in zip(sizes, pads, op.kernel, stride, op.dilation, strict=True)
    ]
    shape = (*lead, *map(len, places))

    def first_largest(index: Shape) -> tuple[float, int]:
        plane = x[index[: len(lead)]]
        corner = [place[i] for place, i in zip(places, index[len(lead) :], strict=True)]
        within = list(positions_inside(corner, op.kernel, op.dilation, sizes))
        if not within:  # dilation steps over the input; torch gives the index of the first position past the padding
            return -math.inf, _flat(
                tuple(c if c >= 0 else c % d for c, d in zip(corner, op.dilation, strict=True)), sizes
            )
        best, best_place = float(plane[within[0]]), within[0]
        for position in within[1:]:
            value = float(plane[position])
            if value > best or math.isnan(value):
                best, best_place = value, position
        return best, _flat(best_place, sizes)

    y = Expected(shape, x.dtype.name, lambda index: first_largest(index)[0])
    return (y, Expected(shape, "int64", lambda index: first_largest(index)[1])) if op.return_indices else y


def _flat(position: Shape, sizes: Shape) -> int:
    flat = 0
    for place, size in zip(position, sizes, strict=True):
        flat = flat * size + place
    return flat
