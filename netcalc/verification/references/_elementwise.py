"""Formulas of functions of each element, and the registration of their references."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference

#: ``(attributes, element as float64 or complex128) -> value``.
Formula: TypeAlias = Callable[[Attributes, Any], Any]
#: By name of the operation, filled by the modules of the families.
FORMULAS: dict[str, Formula] = {}


def float_functions(*names: str) -> None:
    """Register the formulas of these names as functions that keep the element type."""
    for name in names:
        reference(name)(_copy_of)


def _copy_of(op: Attributes, x: Array) -> Expected:
    return Expected(x.shape, x.dtype.name, lambda index: FORMULAS[op.name](op, element(x, index)))


def element(x: Array, index: Shape) -> Any:
    """Return an element in double precision, with the infinities and NaNs of floating-point arithmetic."""
    return np.complex128(x[index]) if x.dtype.kind == "c" else np.float64(x[index])


def normal_cdf(x: Any) -> Any:
    """Return the standard normal distribution function Φ(x)."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def sigmoid(x: Any) -> Any:
    """Return the logistic function, to the last digits of its tails too."""
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))
