"""Eager execution of :mod:`netcalc.ops.lp_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.lp_pool import LPPooling


@eager("lp_pool1d", "lp_pool2d", "lp_pool3d")
class LPPoolingEager(Eager):
    """Powers of the input, their mean over each window, and its sign, magnitude, product and root."""

    def moments(self, op: LPPooling, call: EagerCall) -> Sequence[Moment]:
        powers, mean, sign, magnitude, rectified = (
            call.like("powers", call.input()),
            *map(call.like, ("mean", "sign", "magnitude", "rectified")),
        )
        return (
            Moment((powers, mean), outputs=False),
            Moment((mean, sign, magnitude, rectified), outputs=False),
            Moment((mean, sign)),
        )
