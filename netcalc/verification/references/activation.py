"""References of :mod:`netcalc.ops.activation`; formulas of their papers and of torch.nn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._elementwise import (
    FORMULAS,
    Formula,
    element,
    float_functions,
    normal_cdf,
    sigmoid,
)


def gelu(op: Attributes, x: Any) -> Value:
    """Return x·Φ(x), or its tanh approximation (Hendrycks & Gimpel 2016, arXiv:1606.08415).

    PyTorch computes both as x/2·(1 + …), whose terms cancel in the lower tail.
    """
    tanh = op.approximate == "tanh"
    share = sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if tanh else normal_cdf(x)
    return Value(x * share, abs(x))


def _selu_constants() -> tuple[float, float]:
    """Return scale and alpha that keep mean 0 and variance 1 of normal inputs (arXiv:1706.02515, section 2)."""
    below = math.exp(0.5) * normal_cdf(-1) - 0.5  # mean of exp(x) − 1 over x < 0
    alpha = -1 / math.sqrt(2 * math.pi) / below
    squares = math.exp(2) * normal_cdf(-2) - 2 * math.exp(0.5) * normal_cdf(-1) + 0.5
    return 1 / math.sqrt(0.5 + alpha**2 * squares), alpha


_SCALE, _ALPHA = _selu_constants()


def _arithmetic(x: Array) -> Any:
    """Return the type of arithmetic on the elements of an array."""
    return np.float64 if x.dtype == np.float64 else np.float32


def _clamped(x: Any, low: float, high: float) -> Any:
    return low if x < low else high if x > high else x


_FORMULAS: dict[str, Formula] = {
    "gelu": gelu,
    "quick_gelu": lambda op, x: x * sigmoid(1.702 * x),
    "silu": lambda op, x: x * sigmoid(x),
    "mish": lambda op, x: x * np.tanh(np.logaddexp(0, x)),
    "hardswish": lambda op, x: x * _clamped(x / 6 + 0.5, 0, 1),
    "hardsigmoid": lambda op, x: _clamped(x / 6 + 0.5, 0, 1),
    "hardtanh": lambda op, x: math.nan if op.min != op.min or op.max != op.max else _clamped(x, op.min, op.max),
    "sigmoid": lambda op, x: sigmoid(x),
    "logsigmoid": lambda op, x: -np.logaddexp(0, -x),
    "tanh": lambda op, x: np.sinh(x) / np.cosh(x) if abs(x.real) < 20 else np.sign(x.real),
    "tanhshrink": lambda op, x: Value(x - np.tanh(x), abs(x)),
    "hardshrink": lambda op, x: 0.0 if -op.lambd <= x <= op.lambd else x,
    "softshrink": lambda op, x: x - _clamped(x, -op.lambd, op.lambd),
    "threshold": lambda op, x: op.value if x <= op.threshold else x,
    "softsign": lambda op, x: x / (1 + abs(x)),
}
FORMULAS.update(_FORMULAS)
float_functions(*_FORMULAS)


@reference("elu", "celu", "selu")
def exponential_unit(op: Attributes, x: Array) -> Expected:
    arithmetic = _arithmetic(x)
    above, alpha = (_SCALE, _SCALE * _ALPHA) if op.name == "selu" else (1.0, op.alpha)
    width = op.alpha if op.name == "celu" else 1.0

    def at(index: Shape) -> Any:
        value = element(x, index)
        if value > 0:
            return above * value
        exponent = value / width  # a negative width makes the power large, with the rounding of the exponent
        power = float(arithmetic(np.exp(exponent)))
        rounding = power * (1 + abs(exponent)) if power else 0.0
        return Value(alpha * (power - 1), abs(alpha) * (rounding + 1))

    return Expected(x.shape, x.dtype.name, at)


@reference("softplus")
def softplus(op: Attributes, x: Array) -> Expected:
    arithmetic = _arithmetic(x)
    beta, threshold = np.float64(arithmetic(op.beta)), float(arithmetic(op.threshold))

    def at(index: Shape) -> Any:
        scaled = beta * element(x, index)
        if scaled > threshold:
            return x[index]
        overflows = scaled > math.log(np.finfo(arithmetic).max)  # of the exponential, as in PyTorch
        return math.inf if overflows else np.logaddexp(0, scaled) / beta

    return Expected(x.shape, x.dtype.name, at)


@reference("identity", "detach")
def identity(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, x.dtype.name, lambda index: x[index])
