"""Products of functions of each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netcalc.numerics.kernels import Array, wide
from netcalc.numerics.vjps import Back, Gradients, Product, vjp

__all__ = ["register"]


def register(formulas: Mapping[str, Callable[[Any, Array, Any], Array]]) -> None:
    """Register a product for each name, from a function of attributes, gradient and saved tensor, if any."""
    for name, formula in formulas.items():
        vjp(name)(_elementwise(formula))


def _elementwise(formula: Callable[[Any, Array, Any], Array]) -> Product:
    def product(op: Any, back: Back, gradient: Array) -> Gradients:
        saved = next((wide(array) for array in back.saved.values()), None)
        return {0: formula(op, wide(gradient), saved)}

    return product
