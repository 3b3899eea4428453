"""Kernels of :mod:`netcalc.ops.gated_units`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Kernel, Run, kernel, wide
from netcalc.numerics.kernels.activation import gelu, sigmoid, silu
from netcalc.numerics.kernels.rectifier import relu

_GATES: dict[str, Callable[[Any, Array], Array]] = {
    "glu": lambda op, x: sigmoid(x),
    "reglu": lambda op, x: relu(x),
    "geglu": lambda op, x: gelu(x, op.approximate),
    "swiglu": lambda op, x: silu(x),
}


def _gated(activation: Callable[[Any, Array], Array]) -> Kernel:
    def run_gated(op: Any, run: Run, x: Array) -> Array:
        halves = np.split(wide(x), 2, axis=op.axis)
        gate, value = halves if op.gate == "first" else halves[::-1]
        active = activation(op, gate)
        if op.name != "glu":
            run.keep(result=active.astype(x.dtype, copy=False))
        y: Array = active * value
        return y.astype(x.dtype, copy=False)

    return run_gated


for _name, _activation in _GATES.items():
    kernel(_name)(_gated(_activation))
