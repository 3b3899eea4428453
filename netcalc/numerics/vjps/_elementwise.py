"""Products of functions of each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import wide
from netcalc.numerics.kernels._elementwise import select
from netcalc.numerics.vjps import Back, Gradients, Product, vjp


def register(formulas: Mapping[str, Callable[[Any, Array, Any], Array]]) -> None:
    """Register a product for each name, from a function of attributes, gradient and saved tensor, if any."""
    for name, formula in formulas.items():
        vjp(name)(_elementwise(formula))


def register_flat(*names: str) -> None:
    """Register the product of functions that are constant between jumps: zeros for every operand."""

    @vjp(*names)
    def product(op: Any, back: Back, gradient: Array) -> Gradients:
        return zeros(back, gradient)


def zeros(back: Back, gradient: Array) -> Gradients:
    """Return zeros as the gradients of the wanted inputs."""
    return {n: np.zeros(back.shape(n), gradient.dtype) for n in back.wanted if isinstance(n, int)}


def between(g: Array, x: Array, low: float, high: float) -> Array:
    """Return the gradient where x is inside the open interval, or NaN, and 0 elsewhere."""
    return select(x <= low, 0, select(x >= high, 0, g))


def _elementwise(formula: Callable[[Any, Array, Any], Array]) -> Product:
    def product(op: Any, back: Back, gradient: Array) -> Gradients:
        saved = next((wide(array) for array in back.saved.values()), None)
        return {0: formula(op, wide(gradient), saved)}

    return product
