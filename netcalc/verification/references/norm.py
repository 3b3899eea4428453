"""References of :mod:`netcalc.ops.norm`, after torch.nn.LayerNorm, GroupNorm, RMSNorm, LocalResponseNorm, normalize."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference
from netcalc.verification.references._sums import mean, standardized, total
from netcalc.verification.references.reduce import norm


def _count(op: Attributes) -> int:
    """Return the number of trailing axes that are normalized."""
    return len(op.normalized_shape) if op.normalized_shape else op.axes or 1


@reference("layer_norm")
def layer_norm(
    op: Attributes,
    x: Array,
    scale: Array | None = None,
    offset: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Expected:
    count = _count(op)
    vectors = weight if scale is None else scale, bias if offset is None else offset

    def at(index: Shape) -> Value:
        inner = index[x.ndim - count :]
        factor, shift = (None if vector is None else vector[inner] for vector in vectors)
        return standardized(x[index], x[index[: x.ndim - count]], op.eps, factor, shift)

    return Expected(x.shape, x.dtype.name, at, math.prod(x.shape[x.ndim - count :]))


@parameters("layer_norm")
def layer_norm_parameters(
    op: Attributes, x: Shape, weight: Shape | None = None, bias: Shape | None = None
) -> dict[str, Shape]:
    return _learned(op, x[len(x) - _count(op) :], weight, bias)


def _learned(op: Attributes, shape: Shape, weight: Shape | None, bias: Shape | None) -> dict[str, Shape]:
    """Return the shapes of weight and bias, if they are learned and no inputs."""
    learned = {"weight": op.affine and weight is None, "bias": op.affine and op.bias and bias is None}
    return {name: shape for name, is_learned in learned.items() if is_learned}


@reference("rms_norm")
def rms_norm(op: Attributes, x: Array, scale: Array | None = None, *, weight: Array | None = None) -> Expected:
    count = _count(op)
    weight = weight if scale is None else scale
    machine = np.finfo(np.float64 if x.dtype == np.float64 else np.float32).eps

    def at(index: Shape) -> Value:
        row = x[index[: x.ndim - count]]
        square = mean(row.astype(np.float64) ** 2) + (machine if op.eps is None else op.eps)
        gain = 1.0 if weight is None else float(weight[index[x.ndim - count :]])
        factor, terms = (1.0, 1.0) if weight is None else (gain + op.offset, abs(gain) + abs(op.offset))
        normal = float(np.float64(x[index]) / np.sqrt(square))
        return Value(normal * factor, abs(normal) * terms)

    return Expected(x.shape, x.dtype.name, at, math.prod(x.shape[x.ndim - count :]))


@parameters("rms_norm")
def rms_norm_parameters(op: Attributes, x: Shape, weight: Shape | None = None) -> dict[str, Shape]:
    return {"weight": x[len(x) - _count(op) :]} if op.affine and weight is None else {}


@reference("group_norm")
def group_norm(
    op: Attributes,
    x: Array,
    scale: Array | None = None,
    offset: Array | None = None,
    *,
    weight: Array | None = None,
    bias: Array | None = None,
) -> Expected:
    share = x.shape[1] // op.groups
    vectors = weight if scale is None else scale, bias if offset is None else offset

    def at(index: Shape) -> Value:
        first = index[1] - index[1] % share
        factor, shift = (None if vector is None else vector[index[1]] for vector in vectors)
        return standardized(x[index], x[index[0], first : first + share], op.eps, factor, shift)

    return Expected(x.shape, x.dtype.name, at, share * math.prod(x.shape[2:]))


@parameters("group_norm")
def group_norm_parameters(
    op: Attributes, x: Shape, weight: Shape | None = None, bias: Shape | None = None
) -> dict[str, Shape]:
    return _learned(op, x[1:2], weight, bias)


@reference("local_response_norm")
def local_response_norm(op: Attributes, x: Array) -> Expected:
    arithmetic = np.float64 if x.dtype == np.float64 else np.float32

    def at(index: Shape) -> float:
        batch, channel, *place = index
        first, last = channel - op.size // 2, channel + (op.size - 1) // 2
        near = [float(x[(batch, c, *place)]) ** 2 for c in range(max(first, 0), min(last, x.shape[1] - 1) + 1)]
        base = arithmetic(op.k + arithmetic(op.alpha / op.size) * total(near).value)
        # a root of −∞ is not a number, though its square is
        divisor = np.sqrt(base) if op.beta == 0.5 else np.float64(base) ** op.beta
        return float(np.float64(x[index]) / divisor)

    return Expected(x.shape, x.dtype.name, at, op.size)


@reference("normalize")
def normalize(op: Attributes, x: Array) -> Expected:
    axes = [axis % x.ndim for axis in op.axis] or range(x.ndim)

    def at(index: Shape) -> Any:
        vector = x[tuple(slice(None) if axis in axes else place for axis, place in enumerate(index))]
        length = norm(np.asarray(vector).ravel(), float(op.p))
        own = float(
            np.float64(x[index]) / np.float64(length.value if math.isnan(length.value) else max(length.value, op.eps))
        )
        return Value(own, abs(own) * (1 + (length.magnitude / length.value if length.value else 0)))

    return Expected(x.shape, x.dtype.name, at, math.prod(x.shape[axis] for axis in axes))
