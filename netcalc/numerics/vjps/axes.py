"""Products of :mod:`netcalc.ops.axes`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.axes import Permute, Squeeze, Transpose, Unsqueeze


@vjp("squeeze", "unsqueeze")
def reshaped(op: Squeeze | Unsqueeze, back: Back, gradient: Array) -> Gradients:
    return {0: gradient.reshape(back.shape())}


@vjp("permute")
def permute(op: Permute, back: Back, gradient: Array) -> Gradients:
    places = [axis % gradient.ndim for axis in op.axes]
    return {0: np.transpose(gradient, [places.index(axis) for axis in range(gradient.ndim)])}


@vjp("transpose")
def transpose(op: Transpose, back: Back, gradient: Array) -> Gradients:
    return {0: np.swapaxes(gradient, *op.axes)}
