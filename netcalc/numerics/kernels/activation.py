"""Kernels of :mod:`netcalc.ops.activation`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf

from netcalc.numerics.kernels import Array, Kernel, Run, kernel, like, wide
from netcalc.ops.activation import Elementwise, PReLU

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def select(condition: Array, then: Any, otherwise: Array) -> Array:
    """``then`` where the condition holds; picking is no work."""
    return like(otherwise, np.where(condition, then, otherwise))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    y: Array = 1 / (1 + np.exp(-x))
    return y


def silu(x: Array) -> Array:
    y: Array = x / (1 + np.exp(-x))
    return y


def gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        share: Array = np.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * (x * x)))
    else:
        share = erf(x * math.sqrt(0.5))
    y: Array = 0.5 * x * (1 + share)
    return y


def _clamp(x: Array, low: float, high: float) -> Array:
    return np.minimum(np.maximum(x, low), high)


def _elu(x: Array, alpha: float) -> Array:
    return select(x > 0, x, alpha * np.expm1(x))


def _leaky(x: Array, slope: Any) -> Array:
    return select(x > 0, x, x * slope)


def _celu(x: Array, alpha: float) -> Array:
    return select(x > 0, x, alpha * np.expm1(x / alpha))


def _softplus(x: Array, beta: float, threshold: float) -> Array:
    scaled = x * beta
    return select(scaled > threshold, x, np.log1p(np.exp(scaled)) / beta)


def _square(x: Array) -> Array:
    return x * x


_FORMULAS: dict[str, Callable[[Any, Array], Array]] = {
    "identity": lambda op, x: x,
    "relu": lambda op, x: relu(x),
    "relu6": lambda op, x: _clamp(x, 0, 6),
    "leaky_relu": lambda op, x: _leaky(x, op.negative_slope),
    "elu": lambda op, x: _elu(x, op.alpha),
    "selu": lambda op, x: _SELU_SCALE * _elu(x, _SELU_ALPHA),
    "celu": lambda op, x: _celu(x, op.alpha),
    "gelu": lambda op, x: gelu(x, op.approximate),
    "quick_gelu": lambda op, x: x * sigmoid(1.702 * x),
    "silu": lambda op, x: silu(x),
    "mish": lambda op, x: x * np.tanh(np.log1p(np.exp(x))),
    "hardswish": lambda op, x: x * _clamp(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda op, x: _clamp(x + 3, 0, 6) / 6,
    "hardtanh": lambda op, x: _clamp(x, op.min, op.max),
    "sigmoid": lambda op, x: sigmoid(x),
    "tanh": lambda op, x: np.tanh(x),
    "softplus": lambda op, x: _softplus(x, op.beta, op.threshold),
    "softsign": lambda op, x: x / (1 + np.abs(x)),
    "squared_relu": lambda op, x: _square(relu(x)),
}


def _elementwise(formula: Callable[[Any, Array], Array]) -> Kernel:
    def run_formula(op: Elementwise, run: Run, x: Array) -> Array:
        return formula(op, wide(x)).astype(x.dtype, copy=False)

    return run_formula


for _name, _formula in _FORMULAS.items():
    kernel(_name)(_elementwise(_formula))


@kernel("prelu")
def prelu(op: PReLU, run: Run, x: Array, *, weight: Array) -> Array:
    slope = weight.reshape(-1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else weight.reshape(())
    return _leaky(wide(x), slope).astype(x.dtype, copy=False)
