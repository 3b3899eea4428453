"""Products of :mod:`netcalc.ops.adaptive_pool`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels.adaptive_pool import summed, window_sizes
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._pooling import routed
from netcalc.ops.adaptive_pool import AdaptiveAvgPooling, AdaptiveMaxPooling


@vjp("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def average(op: AdaptiveAvgPooling, back: Back, gradient: Array) -> Gradients:
    return {0: unaveraged(gradient, back.shape()[-op.axes :])}


def unaveraged(gradient: Array, sizes: Sequence[int]) -> Array:
    """Return the gradient of axes of these sizes from the gradient of averages over windows that divide them.

    Output i averages element j if their parts of the axis overlap, and so element j gains from windows of the outputs
    that divide them into ``sizes`` parts.
    """
    g = wide(gradient)
    counts = window_sizes(sizes, g.shape[-len(sizes) :])
    return summed(g / counts.astype(g.dtype), sizes)


@vjp("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def maximum(op: AdaptiveMaxPooling, back: Back, gradient: Array, indices: None = None) -> Gradients:
    return {0: routed(gradient, back.saved["result1"], back.shape(), op.axes)}
