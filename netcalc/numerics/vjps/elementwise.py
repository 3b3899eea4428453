"""Products of :mod:`netcalc.ops.elementwise`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps._elementwise import register, register_flat
from netcalc.ops.elementwise import Clamp


def _clamp(op: Clamp, g: Array, x: Array) -> Array:
    zero = np.zeros_like(g)
    if op.max is not None:
        g = select(x <= op.max, g, zero)
    return g if op.min is None else select(x >= op.min, g, zero)


register(
    {
        "exp": lambda op, g, y: g * y,
        "log": lambda op, g, x: g / x,
        "sqrt": lambda op, g, y: g / (2 * y),
        "rsqrt": lambda op, g, y: g * (-0.5 * (y * y * y)),
        "reciprocal": lambda op, g, y: -g * (y * y),
        "sin": lambda op, g, x: g * np.cos(x),
        "cos": lambda op, g, x: -g * np.sin(x),
        "square": lambda op, g, x: g * (2 * x),
        "abs": lambda op, g, x: select(np.isnan(x), 0, g * np.sign(x)),
        "neg": lambda op, g, _: -g,
        "clamp": _clamp,
        "cast": lambda op, g, _: g,
    }
)
register_flat("sign")
