"""Products of :mod:`netcalc.ops.reduce`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import axes_of, like, wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps import Back, Gradients, vjp
from netcalc.numerics.vjps._norms import norm_gradient
from netcalc.ops.reduce import Cumprod, Cumsum, Logsumexp, Prod, Var, VectorNorm


def kept(op: Any, back: Back, y: Array) -> Array:
    """Return an output, or its gradient, with the reduced axes of size 1."""
    shape = back.shape()
    axes = axes_of(op.axis, len(shape))
    return y.reshape([1 if axis in axes else size for axis, size in enumerate(shape)])


@vjp("sum")
def sum_(op: Any, back: Back, gradient: Array) -> Gradients:
    return {0: like(gradient, np.broadcast_to(kept(op, back, gradient), back.shape()))}


@vjp("mean")
def mean(op: Any, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    shape = back.shape()
    each = math.prod(shape[axis] for axis in axes_of(op.axis, len(shape)))
    return {0: like(g, np.broadcast_to(kept(op, back, g / each), shape))}


@vjp("max", "min")
def extreme(op: Any, back: Back, gradient: Array) -> Gradients:
    x = wide(back.saved["self"])
    ties = x == kept(op, back, wide(back.saved["result"]))
    count = np.add.reduce(ties.astype(x.dtype), axis=axes_of(op.axis, x.ndim), keepdims=True)
    return {0: select(ties, kept(op, back, wide(gradient)), np.zeros_like(x)) / count}


@vjp("prod")
def prod(op: Prod, back: Back, gradient: Array) -> Gradients:
    g = kept(op, back, wide(gradient))
    x = wide(back.saved["self"].astype(gradient.dtype, copy=False))
    axes = axes_of(op.axis, x.ndim)
    order = [*(axis for axis in range(x.ndim) if axis not in axes), *axes]
    moved = x.transpose(order)
    lines = moved.reshape(-1, math.prod(x.shape[axis] for axis in axes)) if x.size else moved.reshape(0, 1)
    others = _before(lines) * np.flip(_before(np.flip(lines, 1)), 1)
    return {0: g * others.reshape(moved.shape).transpose(np.argsort(order))}


def _before(x: Array) -> Array:
    """Return the product of the elements before each, along axis 1."""
    products = like(x, np.ones_like(x))
    products[:, 1:] = np.multiply.accumulate(x[:, :-1], axis=1, dtype=x.dtype)
    return products


@vjp("var")
def var(op: Var, back: Back, gradient: Array) -> Gradients:
    x = wide(back.saved["self"])
    axes = axes_of(op.axis, x.ndim)
    count = math.prod(x.shape[axis] for axis in axes)
    deviation = x - np.add.reduce(x, axis=axes, keepdims=True) / count
    degrees = count - op.correction
    if degrees <= 0 and not (op.axis and x.ndim):  # no degrees of freedom: infinite, as in PyTorch
        degrees, deviation = 0, select(np.asarray(deviation) == 0, np.nan, np.ones_like(deviation))
    factor = np.divide(2.0, np.asarray(degrees, x.dtype))
    return {0: kept(op, back, wide(gradient)) * factor * deviation}


@vjp("vector_norm")
def vector_norm(op: VectorNorm, back: Back, gradient: Array) -> Gradients:
    shape, g = back.shape(), wide(gradient)
    if op.ord == 0:
        return {0: like(g, np.zeros(shape, g.dtype))}
    x = wide(back.saved["self"])
    norm = kept(op, back, wide(back.saved["result"])) if "result" in back.saved else x
    return {0: norm_gradient(x, norm, kept(op, back, g), op.ord, axes_of(op.axis, len(shape)))}


@vjp("logsumexp")
def logsumexp(op: Logsumexp, back: Back, gradient: Array) -> Gradients:
    y = kept(op, back, wide(back.saved["result"]))
    return {0: kept(op, back, wide(gradient)) * np.exp(wide(back.saved["self"]) - y)}


@vjp("cumsum")
def cumsum(op: Cumsum, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    if not g.ndim:
        return {0: g}
    return {0: np.flip(np.add.accumulate(np.flip(g, op.axis), axis=op.axis, dtype=g.dtype), op.axis)}


@vjp("cumprod")
def cumprod(op: Cumprod, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    if not g.size or not g.ndim:
        return {0: g}
    x = np.moveaxis(wide(back.saved["self"].astype(gradient.dtype, copy=False)), op.axis, 0)
    y = np.moveaxis(wide(back.saved["result"]), op.axis, 0)
    flow = like(g, np.moveaxis(np.asarray(g), op.axis, 0).copy())
    for place in reversed(range(len(x) - 1)):
        after = slice(place + 1, place + 2)  # a slice, since a number is not tallied
        flow[place : place + 1] += x[after] * flow[after]
    flow[1:] *= y[:-1]
    return {0: np.moveaxis(flow, 0, op.axis)}
