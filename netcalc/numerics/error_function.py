"""Error function erf(x) and its complement erfc(x) = 1 − erf(x) of arrays of floating-point numbers.

The approximations in float64 are those of W. J. Cody, "Rational Chebyshev Approximations for the Error Function",
Mathematics of Computation 23 (1969), with the coefficients of his program CALERF.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.tally import counted

#: Coefficients of a numerator and a denominator, of falling powers.
Rational: TypeAlias = tuple[Sequence[float], Sequence[float]]

#: erf(x)/x by x², up to |x| = 0.46875.
_NEAR: Rational = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
#: erfc(x)·exp(x²) by x, up to 4.
_MIDDLE: Rational = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
#: (1/√π − erfc(x)·exp(x²)·x)·x² by 1/x², beyond 4.
_FAR: Rational = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242,
        1.87295284992346725,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
_NEAR_EDGE, _FAR_EDGE = 0.46875, 4.0
#: A number beyond which erfc is 0 in float64.
_ZERO_EDGE = 28.0

#: erf(x)/x by x² for results in float32, up to the edge, beyond which they are 1.  It minimizes the largest relative
#: error by Lawson's weighted least squares: 1.8e-9, a thirtieth of half an ulp.
_SINGLE: Rational = (
    (-2.0512942931e-4, 7.3867075865e-2, 6.0378712530, 6.1516882633e1, 8.6930176673e2, 2.9669337770e3, 1.8083141414e4),
    (1.0, 2.0857963368e1, 2.4727844785e2, 1.8249142727e3, 7.9713000314e3, 1.6025766789e4),
)
_SINGLE_EDGE = 3.92

#: Numbers that are computed at a time, whose intermediate results stay in the cache.
_BLOCK = 1 << 12


@counted("transcendental")
def erf(x: Array) -> Array:
    """Return erf(x) in the type of ``x``, to 1 ulp in float32 and to a relative error of 1e-15 in float64.

    >>> erf(np.array([-np.inf, 0.0, 0.5])).round(6).tolist()
    [-1.0, 0.0, 0.5205]
    """
    return _by_blocks(_single_erf if x.dtype.itemsize <= 4 else _erf, x)


@counted("transcendental")
def erfc(x: Array) -> Array:
    """Return 1 − erf(x) in the type of ``x``, to 1 ulp in float32 and to a relative error of 1e-15 in float64.

    Below the normal numbers the error is absolute: one step of the subnormal numbers.

    >>> erfc(np.array([-np.inf, 0.0, 0.5])).round(6).tolist()
    [2.0, 1.0, 0.4795]
    """
    return _by_blocks(_erfc, x)


@counted("mul", "transcendental", "add")
def one_plus_erf(x: Array) -> Array:
    """Return 1 + erf(x·√½), twice the distribution function of the normal distribution, in the type of ``x``.

    It keeps its digits where erf is close to −1.

    >>> [f"{share:.4g}" for share in one_plus_erf(np.array([-np.inf, -10.0, 0.0]))]
    ['0', '1.524e-23', '1']
    """
    return _by_blocks(lambda block: _erfc(block * -math.sqrt(0.5)), x)


@counted("transcendental", "add")
def one_plus_tanh(x: Array) -> Array:
    """Return 1 + tanh(x) in the type of ``x``; it keeps its digits where tanh is close to −1.

    >>> [f"{share:.4g}" for share in one_plus_tanh(np.array([-np.inf, -20.0, 0.0]))]
    ['0', '8.497e-18', '1']
    """
    result: Array = 2 / (1 + np.exp(-2 * x))
    return result


def ratio(polynomials: Rational, x: Array) -> Array:
    """Return the quotient of two polynomials."""
    numerator, denominator = (_evaluated(coefficients, x) for coefficients in polynomials)
    numerator /= denominator
    return numerator


def _evaluated(coefficients: Sequence[float], x: Array) -> Array:
    first, second, *others = coefficients
    value = x + second if first == 1 else x * first + second
    for coefficient in others:
        value *= x
        value += coefficient
    return value


def _by_blocks(function: Callable[[Array], Array], x: Array) -> Array:
    """Apply a function of arrays in float64."""
    result = np.empty(x.shape, x.dtype)
    numbers, results = x.reshape(-1), result.reshape(-1)
    for start in range(0, x.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        results[block] = function(numbers[block].astype(np.float64))
    return result


def _single_erf(x: Array) -> Array:
    np.clip(x, -_SINGLE_EDGE, _SINGLE_EDGE, out=x)
    x *= ratio(_SINGLE, x * x)
    return x


def _erf(x: Array) -> Array:
    size = np.abs(x)
    result: Array = np.copysign(1 - _upper_erfc(size), x)
    near = np.flatnonzero(size <= _NEAR_EDGE)
    result[near] = _near_erf(x[near])
    return result


def _erfc(x: Array) -> Array:
    size = np.abs(x)
    complement = _upper_erfc(size)
    result = np.where(x < 0, 2 - complement, complement)
    near = np.flatnonzero(size <= _NEAR_EDGE)
    result[near] = 1 - _near_erf(x[near])
    return result


def _near_erf(x: Array) -> Array:
    return x * ratio(_NEAR, x * x)


def _upper_erfc(x: Array) -> Array:
    """Return erfc(x) of positive numbers, with a small relative error from the first edge on."""
    x = np.minimum(x, _ZERO_EDGE)
    result = ratio(_MIDDLE, x)
    far = np.flatnonzero(x > _FAR_EDGE)
    beyond = x[far]
    inverse = 1 / (beyond * beyond)
    result[far] = (1 / math.sqrt(math.pi) - inverse * ratio(_FAR, inverse)) / beyond
    # exp(-x²) in two factors: the square of the upper bits is exact, and the rest is small
    upper = np.rint(x * 2**20) * 2**-20
    result *= np.exp(-upper * upper) * np.exp((upper - x) * (upper + x))
    return result
