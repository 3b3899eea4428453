"""Derivatives along random directions, against central differences of outputs in float64.

The derivative of gᵀf(x) along a direction d is gᵀ(f(x + hd) − f(x − hd)) / 2h but for errors of order h², whatever f
does inside.  A kink of relu, max or abs within h of x spoils that, and so do ties: steps become smaller, and points and
directions are drawn again, before there is a difference, since a wrong gradient agrees nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from netcalc.arrays import Array

#: Largest difference from a central difference, relative to the norm of the terms that are added.
TOLERANCE = 1e-6
#: Steps along a direction, in units of the root mean square of what is moved.
STEPS = (1e-4, 1e-5, 1e-6, 1e-7)
#: Distances of the points at which gradients are compared until they agree, in the same unit: of many elements at a
#: kink, such as zeros before a relu, some stay near it unless they move far.
_DISTANCES = (0.0, 1e-3, 1e-2, 0.1)
#: Number of points.
POINTS = len(_DISTANCES)
#: Rounding errors of an output, in units of the machine epsilon.
_ROUNDINGS = 64

#: Return the outputs at a multiple of the direction.
At: TypeAlias = Callable[[float], Sequence[Array]]


class Derivative(NamedTuple):
    """A derivative by the gradients and by the differences that come closest."""

    predicted: float
    measured: float


def differing(at: At, terms: Iterable[Array], seeds: Sequence[Array | None]) -> Derivative | None:
    """Return the derivative of ``gᵀf`` if gradients and differences disagree; None if they agree.

    A gradient that is NaN where differences are finite disagrees.

    Args:
        at: gives the outputs along a direction.
        terms: the gradients of ``gᵀf`` times the direction, as arrays to be added.
        seeds: g, by output; None for outputs that are left out.

    Raises:
        ArithmeticError: if gradients or all differences are infinite.
    """
    closest: Derivative | None = None
    products = [np.asarray(term, np.float64) for term in terms]
    norm = math.sqrt(math.fsum(float(np.square(product).sum()) for product in products))
    if math.isinf(norm):
        raise ArithmeticError("a gradient is infinite")
    predicted = math.fsum(float(product.sum()) for product in products)
    for step, measured, rounding in _measured(at, seeds):
        if abs(measured - predicted) <= TOLERANCE * (norm + abs(measured)) + rounding / step:
            return None
        if closest is None or abs(measured - predicted) < abs(closest.measured - closest.predicted):
            closest = Derivative(predicted, measured)
    if closest is None:
        raise ArithmeticError("the outputs nearby are infinite")
    if math.isnan(predicted) and closest.measured == 0:  # of outputs that are 0 since a number overflows
        raise ArithmeticError("a gradient is infinite")
    return closest


def moved(rng: np.random.Generator, tensor: Array, point: int) -> Array:
    """Return a tensor at a point of this number: itself, or ever further away from itself."""
    return tensor + _DISTANCES[point] * direction(rng, tensor) if point else tensor


def direction(rng: np.random.Generator, tensor: Array, *, symmetric: bool = False) -> Array:
    """Return a random direction for a tensor, of its root mean square; of symmetric matrices if told so."""
    drawn = rng.normal(size=tensor.shape)
    if symmetric:
        drawn = (drawn + drawn.swapaxes(-1, -2)) / math.sqrt(2)
    size = math.sqrt(float(np.mean(np.square(tensor)))) if tensor.size else 0.0
    return np.asarray(drawn * (size if 0 < size < math.inf else 1.0))


def _measured(at: At, seeds: Sequence[Array | None]) -> Iterator[tuple[float, float, float]]:
    """Yield steps, differences over them that are finite, and the rounding error of such a difference of outputs."""
    for step in STEPS:
        change = rounding = 0.0
        with np.errstate(all="ignore"):
            for seed, high, low in zip(seeds, at(step), at(-step), strict=True):
                if seed is not None:
                    change += float(np.sum(seed * (high - low)))
                    rounding += float(np.square(seed * high).sum())
        if math.isfinite(change):
            yield step, change / (2 * step), _ROUNDINGS * float(np.finfo(np.float64).eps) * math.sqrt(rounding)
