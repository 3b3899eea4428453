"""Gradients through the statistics of normalizations."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.numerics.kernels.norm import mean


def through_statistics(h: Array, normal: Array, root: Array, axes: tuple[int, ...], *, centered: bool = True) -> Array:
    """Return (h − mean(h) − x̂·mean(h·x̂))/√(v + ε), without mean(h) where the statistics have no mean."""
    flow: Array = h - normal * mean(h * normal, axes)
    if centered:
        flow = flow - mean(h, axes)
    return flow * root
