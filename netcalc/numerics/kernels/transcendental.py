"""Kernels of :mod:`netcalc.ops.transcendental`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.error_function import erf, erfc
from netcalc.numerics.kernels import Run, kernel, ufunc
from netcalc.numerics.kernels.arithmetic import alike, operands
from netcalc.numerics.kernels.elementwise import register_float_function
from netcalc.numerics.normal_quantile import erfinv

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": erf,
    "erfc": erfc,
    "erfinv": erfinv,
}
for _name, _function in _FUNCTIONS.items():
    register_float_function(_name, _function)

ufunc("atan2")(np.arctan2)


@kernel("atan2")
def atan2(op: Any, run: Run, *arrays: Array | None) -> Array:
    y, x, dtype = alike(*operands(op, arrays), least="float32")
    return np.arctan2(y, x).astype(dtype, copy=False)
