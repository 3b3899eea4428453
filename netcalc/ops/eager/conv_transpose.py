"""Eager execution of :mod:`netcalc.ops.conv_transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.backward import BackwardCall
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.eager.conv import reordered


@eager("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
class TransposedConvolutionEager(Eager):
    """oneDNN's kernels for the gradients, as for a convolution."""

    def backward_moments(self, op: Any, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        weight = next((param for param in call.params if param.name == "weight"), None)
        return (Moment(),) if weight is None else reordered(call, back, call.work("weight", *weight.shape), op.groups)
