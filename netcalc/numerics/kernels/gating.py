"""Kernels of :mod:`netcalc.ops.gating`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.numerics.kernels import Array, Kernel, Run, kernel, wide
from netcalc.numerics.kernels.activation import gelu, sigmoid, silu
from netcalc.numerics.kernels.rectifier import relu
from netcalc.ops.gating import LogSoftmax, Softmax


def log_softmax_along(x: Array, axis: int) -> Array:
    """x − max − ln Σ exp(x − max)."""
    shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


@kernel("softmax")
def softmax(op: Softmax, run: Run, x: Array) -> Array:
    inner = wide(x)
    powers = np.exp(inner - np.maximum.reduce(inner, axis=op.axis, keepdims=True))
    y: Array = powers / np.add.reduce(powers, axis=op.axis, keepdims=True)
    return y.astype(x.dtype, copy=False)


@kernel("log_softmax")
def log_softmax(op: LogSoftmax, run: Run, x: Array) -> Array:
    return log_softmax_along(wide(x), op.axis).astype(x.dtype, copy=False)


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
        y: Array = activation(op, gate) * value
        return y.astype(x.dtype, copy=False)

    return run_gated


for _name, _activation in _GATES.items():
    kernel(_name)(_gated(_activation))
