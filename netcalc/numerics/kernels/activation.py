"""Kernels of :mod:`netcalc.ops.activation`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.error_function import one_plus_erf, one_plus_tanh
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._elementwise import clamp, register, select
from netcalc.ops.activation import Tanhshrink

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def sigmoid(x: Array) -> Array:
    """Return 1/(1 + exp(−x))."""
    y: Array = 1 / (1 + np.exp(-x))
    return y


def silu(x: Array) -> Array:
    """Return x·sigmoid(x)."""
    y: Array = x / (1 + np.exp(-x))
    return y


def gelu(x: Array, approximate: str) -> Array:
    """Return x·Φ(x), with the distribution function exact or approximated by a hyperbolic tangent."""
    if approximate == "tanh":
        share = one_plus_tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * (x * x)))
    else:
        share = one_plus_erf(x)
    y: Array = 0.5 * x * share
    return y


def _elu(x: Array, alpha: float) -> Array:
    return select(x > 0, x, alpha * np.expm1(x))


def _celu(x: Array, alpha: float) -> Array:
    return select(x > 0, x, alpha * np.expm1(x / alpha))


def _softplus(x: Array, beta: float, threshold: float) -> Array:
    scaled = x * beta
    return select(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


register(
    {
        "identity": lambda op, x: x,
        "detach": lambda op, x: x,
        "elu": lambda op, x: _elu(x, op.alpha),
        "selu": lambda op, x: SELU_SCALE * _elu(x, SELU_ALPHA),
        "celu": lambda op, x: _celu(x, op.alpha),
        "gelu": lambda op, x: gelu(x, op.approximate),
        "quick_gelu": lambda op, x: x * sigmoid(1.702 * x),
        "silu": lambda op, x: silu(x),
        "mish": lambda op, x: x * np.tanh(np.log1p(np.exp(x))),
        "hardswish": lambda op, x: x * clamp(x + 3, 0, 6) / 6,
        "hardsigmoid": lambda op, x: clamp(x + 3, 0, 6) / 6,
        "hardtanh": lambda op, x: clamp(x, op.min, op.max),
        "sigmoid": lambda op, x: sigmoid(x),
        "logsigmoid": lambda op, x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
        "tanh": lambda op, x: np.tanh(x),
        "hardshrink": lambda op, x: select(np.abs(x) <= op.lambd, 0, x),
        "softshrink": lambda op, x: x - clamp(x, -op.lambd, op.lambd),
        "threshold": lambda op, x: select(x <= op.threshold, op.value, x),
        "softplus": lambda op, x: _softplus(x, op.beta, op.threshold),
        "softsign": lambda op, x: x / (1 + np.abs(x)),
    }
)


@kernel("tanhshrink")
def tanhshrink(op: Tanhshrink, run: Run, x: Array) -> Array:
    inner = wide(x)
    curve = np.tanh(inner)
    run.keep(result=curve.astype(x.dtype, copy=False))
    y: Array = inner - curve
    return y.astype(x.dtype, copy=False)
