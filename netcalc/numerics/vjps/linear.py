"""Products of :mod:`netcalc.ops.linear`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.ops.linear import Bilinear, Linear


@vjp("linear")
def linear(op: Linear, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    rows = g.reshape(math.prod(g.shape[:-1]), g.shape[-1])
    gradients: Gradients = {}
    if back.wants(0):
        gradients[0] = np.matmul(g, wide(back.saved["weight"]))
    for source in back.among("weight", 1):
        x = wide(back.saved["input"])
        gradients[source] = np.matmul(rows.T, x.reshape(len(rows), x.shape[-1]))
    for source in back.among("bias", 2):
        gradients[source] = np.add.reduce(rows, axis=0)
    return gradients


@vjp("bilinear")
def bilinear(op: Bilinear, back: Back, gradient: Array) -> Gradients:
    rows = wide(gradient).reshape(-1, gradient.shape[-1])
    left, right = (
        wide(back.saved[name]).reshape(len(rows), -1) if name in back.saved else None for name in ("input1", "input2")
    )
    gradients: Gradients = {}
    if back.wants(0, 1):
        weight = wide(back.saved["weight"])
        out, in1, in2 = weight.shape
        matrices = np.matmul(rows, weight.reshape(out, -1)).reshape(-1, in1, in2)
    if back.wants(0):
        assert right is not None
        gradients[0] = np.matmul(matrices, right[:, :, None]).reshape(back.shape(0))
    if back.wants(1):
        assert left is not None
        gradients[1] = np.matmul(left[:, None, :], matrices).reshape(back.shape(1))
    if back.wants("weight"):
        assert left is not None and right is not None
        outer = left[:, :, None] * right[:, None, :]
        product = np.matmul(rows.T, outer.reshape(len(rows), -1))
        gradients["weight"] = product.reshape(-1, left.shape[1], right.shape[1])
    if back.wants("bias"):
        gradients["bias"] = np.add.reduce(rows, axis=0)
    return gradients
