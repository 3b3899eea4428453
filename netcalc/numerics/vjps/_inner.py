"""Products of operations that other operations contain."""

from __future__ import annotations

from typing import Any

from netcalc.arrays import Array
from netcalc.numerics.vjps import Back, apply_vjp
from netcalc.tensor_type import TensorType


def through(op: Any, back: Back, gradient: Array, **saved: Array) -> Array:
    """Return the gradient of the input of an operation inside another, on one tensor."""
    type_ = TensorType(gradient.shape)
    inner = Back(frozenset({0}), saved, (type_,), (type_,), back.training, back.count)
    return apply_vjp(op, inner, (gradient,))[0]
