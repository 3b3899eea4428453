"""Products of :mod:`netcalc.ops.activation`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.error_function import erf
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.activation import SELU_ALPHA, SELU_SCALE, sigmoid
from netcalc.numerics.vjps._elementwise import between, register

_SLOPE = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def gelu_gradient(g: Array, x: Array, approximate: str) -> Array:
    """Return the product of a gradient with the derivative of GELU."""
    slope: Array
    if approximate == "tanh":
        squared = x * x
        t = np.tanh(_SLOPE * (x + _CUBIC * (squared * x)))
        inner = _SLOPE * (1 + (3 * _CUBIC) * squared)
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner
    else:
        below = 0.5 * (1 + erf(x * math.sqrt(0.5)))
        density = np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
        slope = below + x * density
    return g * slope


def silu_gradient(g: Array, x: Array) -> Array:
    """Return the product of a gradient with the derivative of SiLU."""
    s = sigmoid(x)
    slope: Array = s * (1 + x * (1 - s))
    return g * slope


def _quick_gelu(g: Array, x: Array) -> Array:
    scaled = 1.702 * x
    s = sigmoid(scaled)
    slope: Array = s * (1 + scaled * (1 - s))
    return g * slope


def _mish(g: Array, x: Array) -> Array:
    t = np.tanh(np.log1p(np.exp(x)))
    slope: Array = t + x * sigmoid(x) * (1 - t * t)
    return g * slope


def _hardswish(g: Array, x: Array) -> Array:
    return select(x <= -3, 0, select(x < 3, g * (x / 3 + 0.5), g))


def _softplus(g: Array, x: Array, beta: float, threshold: float) -> Array:
    scaled = x * beta
    power = np.exp(scaled)
    return select(scaled > threshold, g, g * power / (1 + power))


def _softsign(g: Array, x: Array) -> Array:
    spread: Array = 1 + np.abs(x)
    gradient: Array = g / (spread * spread)
    return gradient


register(
    {
        "identity": lambda op, g, _: g,
        "elu": lambda op, g, x: g * select(x <= 0, op.alpha * np.exp(x), np.ones_like(x)),
        "selu": lambda op, g, x: g * select(x <= 0, SELU_SCALE * SELU_ALPHA * np.exp(x), np.full_like(x, SELU_SCALE)),
        "celu": lambda op, g, x: g * select(x <= 0, np.exp(x / op.alpha), np.ones_like(x)),
        "gelu": lambda op, g, x: gelu_gradient(g, x, op.approximate),
        "quick_gelu": lambda op, g, x: _quick_gelu(g, x),
        "silu": lambda op, g, x: silu_gradient(g, x),
        "mish": lambda op, g, x: _mish(g, x),
        "hardswish": lambda op, g, x: _hardswish(g, x),
        "hardsigmoid": lambda op, g, x: select(x > -3, select(x < 3, g / 6, np.zeros_like(g)), np.zeros_like(g)),
        "hardtanh": lambda op, g, x: between(g, x, op.min, op.max),
        "sigmoid": lambda op, g, y: g * (y * (1 - y)),
        "logsigmoid": lambda op, g, x: g / (1 + np.exp(x)),
        "tanh": lambda op, g, y: g * (1 - y * y),
        "tanhshrink": lambda op, g, t: g * (t * t),
        "hardshrink": lambda op, g, x: select(np.abs(x) <= op.lambd, 0, g),
        "softshrink": lambda op, g, x: select(np.abs(x) <= op.lambd, 0, g),
        "threshold": lambda op, g, x: select(x <= op.threshold, 0, g),
        "softplus": lambda op, g, x: _softplus(g, x, op.beta, op.threshold),
        "softsign": lambda op, g, x: _softsign(g, x),
    }
)
