"""Eager execution of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import integer
from netcalc.ops.backward import BackwardCall
from netcalc.ops.conv import Convolution
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager


def reordered(call: EagerCall, back: BackwardCall, weight: Work) -> tuple[Moment, ...]:
    """Return the moments of oneDNN's kernels, whose operands and gradients have an order of memory of their own.

    The kernel of the input's gradient comes first; then that of the weight's, beside the input's gradient.
    """
    gradient, x = call.like("reordered gradient"), call.like("reordered input", call.input())
    moments: list[Moment] = []
    held: tuple[Work, ...] = ()
    if back.wants(0):
        held = (call.like("gradient of input", call.input()),)
        moments += (Moment((gradient, weight, x), outputs=False), Moment((*held, x), outputs=False))
    if back.wants("weight"):
        moments += (Moment((*held, gradient, x, weight), outputs=False), Moment((weight,)))
    return tuple(moments) or (Moment(),)


@eager("conv1d", "conv2d", "conv3d")
class ConvolutionEager(Eager):
    """A kernel that pads with zeros by itself, the same on both sides, and otherwise takes a padded copy."""

    def moments(self, op: Convolution, call: EagerCall) -> Sequence[Moment]:
        x = call.input()
        spatial = op.sizes_of(x)
        sides, zeros = op.pads(spatial), op.padding_mode == "zeros"
        if all(before == after and (zeros or before == 0) for before, after in sides):
            return (Moment(),)
        # with zeros only the surplus of one side is copied
        common = [min(integer(before), integer(after)) if zeros else 0 for before, after in sides]
        padded = [
            size + before + after - 2 * both for size, (before, after), both in zip(spatial, sides, common, strict=True)
        ]
        return (Moment((call.work("padded input", *x.shape[: x.rank - op.axes], *padded),)),)

    def backward_moments(self, op: Convolution, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        weight = next((param for param in call.params if param.name == "weight"), None)
        if weight is None or all(size == 1 for size in weight.shape[2:]):
            return (Moment(),)
        return reordered(call, back, call.work("weight", *weight.shape))
