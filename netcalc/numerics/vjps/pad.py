"""Products of :mod:`netcalc.ops.pad`."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._windows import embedded, unfolded_edges
from netcalc.ops.pad import Pad


@vjp("pad")
def pad(op: Pad, back: Back, gradient: Array) -> Gradients:
    shape, g = back.shape(), wide(gradient)
    axes = range(len(shape) - len(op.padding), len(shape)) if op.axis is None else op.axis
    for axis, (before, after) in zip(axes, op.padding, strict=True):
        size, added = shape[axis], (max(before, 0), max(after, 0))
        cut = max(-before, 0)
        if op.mode in ("reflect", "replicate"):  # elements are added to the whole axis, and then cut off
            g = embedded(g, [axis], [cut], [size + sum(added)])
            g = unfolded_edges(g, axis, size, added, op.mode)
        else:
            g = unfolded_edges(g, axis, g.shape[axis] - sum(added), added, op.mode)
            g = embedded(g, [axis], [cut], [size])
    return {0: g}
