"""Kernels of :mod:`netcalc.ops.bits`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.numerics.kernels import Run, kernel
from netcalc.numerics.kernels.arithmetic import register_combination
from netcalc.ops.bits import Bitcast

for _name, _function in {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
}.items():
    register_combination(_name, _function)


@kernel("bitwise_not")
def bitwise_not(op: Any, run: Run, x: Array) -> Array:
    return np.invert(x)


@kernel("bitcast")
def bitcast(op: Bitcast, run: Run, x: Array) -> Array:
    return x.view(numpy_dtype(op.dtype))
