"""Products of :mod:`netcalc.ops.gated_units`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.kernels.activation import sigmoid
from netcalc.numerics.vjps import Back, Gradients, Product, vjp
from netcalc.numerics.vjps.activation import gelu_gradient, silu_gradient

#: Gradient of the gate from the gradient of the activated gate, the gate, and the activated gate.
_GATES: dict[str, Callable[[Any, Array, Array, Array], Array]] = {
    "reglu": lambda op, g, gate, active: select(active <= 0, 0, g),
    "geglu": lambda op, g, gate, active: gelu_gradient(g, gate, op.approximate),
    "swiglu": lambda op, g, gate, active: silu_gradient(g, gate),
}


def _halves(op: Any, x: Array) -> tuple[Array, Array]:
    """Return the gate and the value."""
    first, second = np.split(x, 2, axis=op.axis)
    return (first, second) if op.gate == "first" else (second, first)


def _joined_gradients(op: Any, gate: Array, value: Array) -> Gradients:
    return {0: np.concatenate((gate, value) if op.gate == "first" else (value, gate), axis=op.axis)}


@vjp("glu")
def glu(op: Any, back: Back, gradient: Array) -> Gradients:
    g = wide(gradient)
    gate, value = _halves(op, wide(back.saved["self"]))
    s = sigmoid(gate)
    by_value = g * s
    return _joined_gradients(op, by_value * value * (1 - s), by_value)


def _gated(by_gate: Callable[[Any, Array, Array, Array], Array]) -> Product:
    def product(op: Any, back: Back, gradient: Array) -> Gradients:
        g, active = wide(gradient), wide(back.saved["result"])
        gate, value = _halves(op, wide(back.saved["self"]))
        return _joined_gradients(op, by_gate(op, g * value, gate, active), g * active)

    return product


for _name, _by_gate in _GATES.items():
    vjp(_name)(_gated(_by_gate))
