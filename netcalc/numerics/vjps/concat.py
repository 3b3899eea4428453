"""Products of :mod:`netcalc.ops.concat`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.concat import Chunk, Concat, Split, Stack


@vjp("concat")
def concat(op: Concat, back: Back, gradient: Array) -> Gradients:
    ends = np.cumsum([back.shape(number)[op.axis] for number in range(len(back.inputs))])
    parts = np.split(gradient, ends[:-1], op.axis)
    return {number: part for number, part in enumerate(parts) if number in back.wanted}


@vjp("stack")
def stack(op: Stack, back: Back, gradient: Array) -> Gradients:
    parts = np.moveaxis(gradient, op.axis, 0)
    return {number: parts[number] for number in range(len(back.inputs)) if number in back.wanted}


@vjp("split", "chunk")
def joined(op: Split | Chunk, back: Back, *gradients: Array | None) -> Gradients:
    pieces = [
        np.zeros([int(size) for size in type_.shape], numpy_dtype(type_.dtype)) if gradient is None else gradient
        for gradient, type_ in zip(gradients, back.outputs, strict=True)
    ]
    return {0: np.concatenate(pieces, op.axis)}
