"""Products of :mod:`netcalc.ops.transcendental`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.normal_quantile import erfinv
from netcalc.numerics.vjps._elementwise import register as register_functions
from netcalc.numerics.vjps._pairs import Pair, register
from netcalc.ops.transcendental import Atan2


def _bell(x: Array, factor: float) -> Array:
    bell: Array = factor * np.exp(-(x * x))
    return bell


register_functions(
    {
        "expm1": lambda op, g, y: g * (y + 1),
        "exp2": lambda op, g, y: g * (y * math.log(2)),
        "log1p": lambda op, g, x: g / (1 + x),
        "log2": lambda op, g, x: g / (x * math.log(2)),
        "log10": lambda op, g, x: g / (x * math.log(10)),
        "tan": lambda op, g, y: g * (1 + y * y),
        "asin": lambda op, g, x: g / np.sqrt(1 - x * x),
        "acos": lambda op, g, x: -(g / np.sqrt(1 - x * x)),
        "atan": lambda op, g, x: g / (1 + x * x),
        "sinh": lambda op, g, x: g * np.cosh(x),
        "cosh": lambda op, g, x: g * np.sinh(x),
        "asinh": lambda op, g, x: g / np.sqrt(x * x + 1),
        "acosh": lambda op, g, x: g / np.sqrt(x * x - 1),
        "atanh": lambda op, g, x: g / (1 - x * x),
        "erf": lambda op, g, x: g * _bell(x, 2 / math.sqrt(math.pi)),
        "erfc": lambda op, g, x: g * _bell(x, -2 / math.sqrt(math.pi)),
        "erfinv": lambda op, g, x: g * (math.sqrt(math.pi) / 2 * np.exp(np.square(erfinv(x)))),
    }
)


def _atan2(op: Atan2, pair: Pair) -> tuple[Array | None, Array | None]:
    y, x = pair.working(pair.left), pair.working(pair.right)
    over = pair.gradient / (y * y + x * x)
    return (pair.to_left(over * x) if pair.wants_left else None, -pair.to_right(over * y) if pair.wants_right else None)


register("atan2", _atan2)
