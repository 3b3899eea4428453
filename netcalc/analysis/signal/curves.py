"""Activation functions as functions of a number, with their derivatives, for predictions in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from netcalc.analysis.signal.quadrature import Curve1

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946
_ROOT_2 = math.sqrt(2)
_ROOT_2_PI = math.sqrt(2 * math.pi)


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """An activation function: ``value``, its derivative ``slope``, and the ``kinks`` where either jumps.

    A function with limits on both sides saturates: its slope is below a tenth of its greatest outside of ``active``.
    """

    name: str
    value: Curve1
    slope: Curve1
    kinks: tuple[float, ...] = (0.0,)
    active: tuple[float, float] | None = None

    def after(self, inner: Curve) -> Curve:
        """Return the composition, this function of another one; its kinks are the kinks of the inner one."""
        return Curve(
            f"{self.name}({inner.name})",
            lambda x: self.value(inner.value(x)),
            lambda x: self.slope(inner.value(x)) * inner.slope(x),
            inner.kinks,
        )


def curve_of(op: Any) -> Curve | None:
    """Return the curve of an operation with its attributes; None if it is no activation function that is known."""
    build = CURVES.get(op.name)
    return None if build is None else build(op)


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    e = math.exp(x)
    return e / (1 + e)


def _bell(x: float) -> float:
    """Derivative of the logistic function."""
    s = _sigmoid(x)
    return s * (1 - s)


def _normal(x: float) -> float:
    return 0.5 * (1 + math.erf(x / _ROOT_2))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _elu(alpha: float, scale: float = 1.0, width: float = 1.0) -> tuple[Curve1, Curve1]:
    def value(x: float) -> float:
        return scale * (x if x > 0 else alpha * math.expm1(x / width))

    def slope(x: float) -> float:
        return scale * (1.0 if x > 0 else alpha / width * math.exp(x / width))

    return value, slope


def _gated(gate: Curve1, slope: Curve1) -> tuple[Curve1, Curve1]:
    """Return x·g(x) and its derivative."""
    return lambda x: x * gate(x), lambda x: gate(x) + x * slope(x)


def _gelu(op: Any) -> Curve:
    if op.approximate == "none":
        return Curve("gelu", *_gated(_normal, lambda x: math.exp(-0.5 * x * x) / _ROOT_2_PI))
    factor = math.sqrt(2 / math.pi)

    def inner(x: float) -> float:
        return factor * x * (1 + 0.044715 * x * x)

    def slope(x: float) -> float:
        t = math.tanh(inner(x))
        return 0.5 * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x)

    return Curve("gelu", *_gated(lambda x: 0.5 * (1 + math.tanh(inner(x))), slope))


def _mish_gate(x: float) -> float:
    return math.tanh(_softplus(x))


def _clamp(low: float, high: float, scale: float = 1.0, offset: float = 0.0, name: str = "hardtanh") -> Curve:
    """Return scale·(x + offset) limited to [low, high]."""
    left, right = low / scale - offset, high / scale - offset
    return Curve(
        name,
        lambda x: min(max(scale * (x + offset), low), high),
        lambda x: scale if left < x < right else 0.0,
        (left, right),
        (left, right),
    )


def _hardswish_slope(x: float) -> float:
    return 0.0 if x < -3 else 1.0 if x > 3 else (2 * x + 3) / 6


def _leaky(slope: float, name: str = "leaky_relu") -> Curve:
    return Curve(name, lambda x: x if x > 0 else slope * x, lambda x: 1.0 if x > 0 else slope)


def _scaled_softplus(op: Any) -> Curve:
    edge = op.threshold / op.beta
    return Curve(
        "softplus",
        lambda x: x if x * op.beta > op.threshold else _softplus(op.beta * x) / op.beta,
        lambda x: 1.0 if x * op.beta > op.threshold else _sigmoid(op.beta * x),
        (0.0, edge),
    )


def _shrink(op: Any, soft: bool) -> Curve:
    width = op.lambd

    def value(x: float) -> float:
        return 0.0 if abs(x) <= width else x - math.copysign(width, x) if soft else x

    return Curve(op.name, value, lambda x: 0.0 if abs(x) <= width else 1.0, (-width, width))


#: Where the slope of tanh and of the logistic function is a tenth of its greatest.
_TANH_ACTIVE = math.atanh(math.sqrt(0.9))

CURVES: dict[str, Callable[[Any], Curve]] = {
    "identity": lambda op: Curve("identity", lambda x: x, lambda x: 1.0),
    "relu": lambda op: Curve("relu", lambda x: max(x, 0.0), lambda x: 1.0 if x > 0 else 0.0),
    "relu6": lambda op: _clamp(0.0, 6.0, name="relu6"),
    "leaky_relu": lambda op: _leaky(op.negative_slope),
    "prelu": lambda op: _leaky(op.init, "prelu"),
    "squared_relu": lambda op: Curve("squared_relu", lambda x: max(x, 0.0) ** 2, lambda x: 2 * max(x, 0.0)),
    "elu": lambda op: Curve("elu", *_elu(op.alpha)),
    "selu": lambda op: Curve("selu", *_elu(_SELU_ALPHA, _SELU_SCALE)),
    "celu": lambda op: Curve("celu", *_elu(op.alpha, width=op.alpha)),
    "gelu": _gelu,
    "quick_gelu": lambda op: Curve(
        "quick_gelu", *_gated(lambda x: _sigmoid(1.702 * x), lambda x: 1.702 * _bell(1.702 * x))
    ),
    "silu": lambda op: Curve("silu", *_gated(_sigmoid, _bell)),
    "mish": lambda op: Curve("mish", *_gated(_mish_gate, lambda x: (1 - _mish_gate(x) ** 2) * _sigmoid(x))),
    "hardswish": lambda op: Curve(
        "hardswish", lambda x: x * min(max(x + 3, 0.0), 6.0) / 6, _hardswish_slope, (-3.0, 3.0)
    ),
    "hardsigmoid": lambda op: _clamp(0.0, 1.0, 1 / 6, 3.0, "hardsigmoid"),
    "hardtanh": lambda op: _clamp(op.min, op.max),
    "sigmoid": lambda op: Curve("sigmoid", _sigmoid, _bell, active=(-2 * _TANH_ACTIVE, 2 * _TANH_ACTIVE)),
    "logsigmoid": lambda op: Curve("logsigmoid", lambda x: -_softplus(-x), lambda x: _sigmoid(-x)),
    "tanh": lambda op: Curve("tanh", math.tanh, lambda x: 1 - math.tanh(x) ** 2, active=(-_TANH_ACTIVE, _TANH_ACTIVE)),
    "tanhshrink": lambda op: Curve("tanhshrink", lambda x: x - math.tanh(x), lambda x: math.tanh(x) ** 2),
    "hardshrink": lambda op: _shrink(op, soft=False),
    "softshrink": lambda op: _shrink(op, soft=True),
    "threshold": lambda op: Curve(
        "threshold",
        lambda x: x if x > op.threshold else op.value,
        lambda x: 1.0 if x > op.threshold else 0.0,
        (op.threshold,),
    ),
    "softplus": _scaled_softplus,
    "softsign": lambda op: Curve(
        "softsign",
        lambda x: x / (1 + abs(x)),
        lambda x: 1 / (1 + abs(x)) ** 2,
        active=(1 - math.sqrt(10), math.sqrt(10) - 1),
    ),
}
