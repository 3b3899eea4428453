"""Kernels of :mod:`netcalc.ops.rounding`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, wide
from netcalc.numerics.kernels._promotion import floating
from netcalc.numerics.kernels.arithmetic import register_combination


def _register(name: str, function: Callable[[Array], Array]) -> None:
    @kernel(name)
    def rounded(op: Any, run: Run, x: Array) -> Array:
        return function(wide(x)).astype(x.dtype, copy=False) if floating(x) == x.dtype else x


for _name, _function in {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}.items():
    _register(_name, _function)
for _name, _remainder in {"remainder": np.remainder, "fmod": np.fmod}.items():
    register_combination(_name, _remainder)
