"""Helpers of activation kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Kernel, Run, kernel, like, wide
from netcalc.ops._elementwise import Elementwise


def select(condition: Array, then: Any, otherwise: Array) -> Array:
    """Return ``then`` where the condition is true, and the other value elsewhere; selection is not work."""
    return like(otherwise, np.where(condition, then, otherwise))


def clamp(x: Array, low: float, high: float) -> Array:
    """Return ``x`` limited to a range."""
    return np.minimum(np.maximum(x, low), high)


def register(formulas: Mapping[str, Callable[[Any, Array], Array]]) -> None:
    """Register a kernel for each name, from a function of the attributes and the elements."""
    for name, formula in formulas.items():
        kernel(name)(_elementwise(formula))


def _elementwise(formula: Callable[[Any, Array], Array]) -> Kernel:
    def run_formula(op: Elementwise, run: Run, x: Array) -> Array:
        return formula(op, wide(x)).astype(x.dtype, copy=False)

    return run_formula
