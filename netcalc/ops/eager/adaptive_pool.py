"""Eager execution of :mod:`netcalc.ops.adaptive_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.adaptive_pool import AdaptiveMaxPooling
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
class AdaptiveMaxPoolingEager(Eager):
    """PyTorch's kernel always returns the indices of the maxima."""

    def moments(self, op: AdaptiveMaxPooling, call: EagerCall) -> Sequence[Moment]:
        if op.return_indices:
            return (Moment(),)
        return (Moment((call.work("indices", *call.outputs[0].shape, dtype="int64"),)),)
