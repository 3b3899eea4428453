"""Eager execution of :mod:`netcalc.ops.conv`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import integer
from netcalc.ops.conv import Convolution
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


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
