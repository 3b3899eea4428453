"""Quantiles of the normal distribution, and the inverse of the error function.

The rational approximations are from the Cephes library (S. L. Moshier, ``ndtri``), which SciPy uses too.
"""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.error_function import Rational, erf, ratio
from netcalc.numerics.tally import counted

#: Numerators and denominators, of falling powers: of (y - ½)² in the middle, and of 1/√(-2 log y) in the tails, up to a
#: root of 8 and beyond.
_MIDDLE: Rational = (
    (-59.9633501014107895, 98.0010754185999662, -56.6762857469070293, 13.9312609387279680, -1.23916583867381258),
    (
        1.0,
        1.95448858338141760,
        4.67627912898881538,
        86.3602421390890591,
        -225.462687854119371,
        200.260212380060660,
        -82.0372256168333340,
        15.9056225126211696,
        -1.18331621121330003,
    ),
)
_TAIL: Rational = (
    (
        4.05544892305962420,
        31.5251094599893866,
        57.1628192246421288,
        44.0805073893200835,
        14.6849561928858024,
        2.18663306850790268,
        -0.140256079171354496,
        -0.0350424626827848203,
        -0.000857456785154685414,
    ),
    (
        1.0,
        15.7799883256466750,
        45.3907635128879211,
        41.3172038254672030,
        15.0425385692907503,
        2.50464946208309416,
        -0.142182922854787789,
        -0.0380806407691578277,
        -0.000933259480895457427,
    ),
)
_FAR_TAIL: Rational = (
    (
        3.23774891776946036,
        6.91522889068984212,
        3.93881025292474443,
        1.33303460815807542,
        0.201485389549179082,
        0.0123716634817820021,
        0.000301581553508235416,
        2.65806974686737551e-6,
        6.23974539184983294e-9,
    ),
    (
        1.0,
        6.02427039364742014,
        3.67983563856160859,
        1.37702099489081330,
        0.216236993594496636,
        0.0134204006088543189,
        0.000328014464682127739,
        2.89247864745380684e-6,
        6.79019408009981274e-9,
    ),
)
#: Numbers that are computed at a time, whose intermediate results stay in the cache.
_BLOCK = 1 << 14
#: Probability at which the tails begin.
_EDGE = math.exp(-2)


def normal_quantile(probability: Array) -> Array:
    """Return the numbers that a standard normal variable exceeds with one minus these probabilities, in float64.

    >>> normal_quantile(np.array([0.025, 0.5, 0.975])).round(6).tolist()
    [-1.959964, 0.0, 1.959964]
    """
    result = np.array(probability, np.float64, order="C")
    flat = result.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        _to_quantiles(flat[start : start + _BLOCK])
    return result


@counted("transcendental")
def erfinv(x: Array) -> Array:
    """Return the number at which the error function is ``x``, in the type of ``x``; NaN beyond −1 and 1.

    >>> erfinv(np.array([-1.0, 0.0, 0.5])).round(6).tolist()
    [-inf, 0.0, 0.476936]
    """
    numbers = x.astype(np.float64)
    size = np.abs(numbers)
    with np.errstate(all="ignore"):
        inverse = -normal_quantile((1 - size) / 2) * math.sqrt(0.5)
        # a step by Newton's method keeps the digits of small numbers
        corrected = inverse - (erf(inverse) - size) * np.exp(inverse * inverse) * (math.sqrt(math.pi) / 2)
    near = size < 0.5
    result = np.where(size > 1, np.nan, np.where(near, corrected, inverse))
    return np.copysign(result, numbers).astype(x.dtype)


def _to_quantiles(values: Array) -> None:
    """Replace probabilities by their quantiles."""
    outer = np.minimum(values, 1 - values)
    outside = np.flatnonzero(outer <= _EDGE)
    values -= 0.5
    squared = values * values
    middle = ratio(_MIDDLE, squared)
    middle *= squared
    middle += 1
    middle *= math.sqrt(2 * math.pi)
    tails, signs = outer[outside], values[outside]
    values *= middle
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(-2 * np.log(tails))
        inverse = 1 / root
        near = ratio(_TAIL, inverse)
        far = root >= 8
        if far.any():
            near[far] = ratio(_FAR_TAIL, inverse[far])
        distance = root - np.log(root) * inverse - inverse * near
    distance[tails == 0] = np.inf
    values[outside] = np.copysign(distance, signs)
