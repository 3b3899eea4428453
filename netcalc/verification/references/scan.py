"""Reference of :mod:`netcalc.ops.scan`, without a recurrence.

The recurrence x_t = exp(Δ_t·A)·x_{t−1} + Δ_t·B_t·u_t is unrolled: the input of step s has decayed by exp(A·Σ Δ) over
the steps after s when step t reads it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._promotion import promoted
from netcalc.verification.references._sums import double, total


@reference("selective_scan")
def selective_scan(
    op: Attributes,
    u: Array,
    delta: Array,
    a: Array,
    b: Array,
    c: Array,
    d: Array | None = None,
    z: Array | None = None,
    delta_bias: Array | None = None,
    initial_state: Array | None = None,
) -> tuple[Expected, Expected]:
    batch, channels, length = u.shape
    states = a.shape[1]
    arrays = (u, delta, a, b, c, d, z, delta_bias, initial_state)
    precision = promoted("float32", *(x.dtype.name for x in arrays if x is not None))

    def steps(sample: int, channel: int) -> Array:
        """Return Δ of each step."""
        sizes = double(delta[sample, channel]) + (0 if delta_bias is None else float(delta_bias[channel]))
        return np.logaddexp(0, sizes) if op.delta_softplus else sizes

    def terms(sample: int, channel: int, upto: int) -> tuple[Array, Array, float]:
        """Return the parts of each step and of the first state in a state, and a bound of the factors they have."""
        sizes = steps(sample, channel)[:upto]
        after = np.cumsum(sizes[::-1])[::-1] - sizes  # the steps between s and the end
        decays = np.exp(np.multiply.outer(after, double(a[channel])))
        written = sizes * double(u[sample, channel, :upto])
        projected = _projected_steps(b, u, sample, channel, upto)
        start = np.zeros(states) if initial_state is None else double(initial_state[sample, channel])
        growth = max((largest_growth(sizes * rate) for rate in double(a[channel])), default=1.0)
        return (
            decays * written[:, None] * projected,
            start * np.exp(float(sizes.sum()) * double(a[channel])),
            growth * (at_least_one(written) * at_least_one(projected) * upto + at_least_one(start)),
        )

    def output(index: Shape) -> Value:
        sample, channel, place = index
        parts, start, largest = terms(sample, channel, place + 1)
        read = _projected_steps(c, u, sample, channel, place + 1)[-1]
        value, magnitude, _ = total(np.concatenate([(parts * read).ravel(), start * read]))
        largest *= at_least_one(read) * states
        if d is not None:
            skipped = float(u[index]) * float(d[channel])
            value, magnitude = value + skipped, magnitude + abs(skipped)
        if z is not None:
            gate = float(z[index])
            share = gate * math.exp(-float(np.logaddexp(0, -gate)))
            value, magnitude, largest = value * share, magnitude * abs(share), largest * at_least_one(share)
        return Value(value, magnitude, largest)

    def last(index: Shape) -> Value:
        sample, channel, state = index
        parts, start, largest = terms(sample, channel, length)
        return total([*parts[:, state], start[state]])._replace(largest=largest)

    reads = 4 * states * max(length, 1)
    return (Expected(u.shape, u.dtype.name, output, reads), Expected((batch, channels, states), precision, last, reads))


def largest_growth(exponents: Array) -> float:
    """Return the largest product of the exponentials of consecutive numbers, 1 for none of them."""
    so_far = largest = 0.0
    for exponent in exponents:
        so_far = max(so_far + float(exponent), 0.0)
        largest = max(largest, so_far)
    return float(np.exp(largest))


def at_least_one(factors: Any) -> float:
    """Return the largest magnitude of some factors, at least 1, to bound products with and without them."""
    return float(np.abs(factors).max(initial=1.0))


def _projected_steps(x: Array, u: Array, sample: int, channel: int, upto: int) -> Array:
    """Return B or C of a channel for the first steps, (steps, states)."""
    if x.ndim == 2:
        return np.broadcast_to(double(x[channel]), (upto, x.shape[1]))
    if x.ndim == 3:
        return double(x[sample, :upto])
    return double(x[sample, :upto, channel // (u.shape[1] // x.shape[2])])


@reference("wkv")
def wkv(
    op: Attributes,
    key: Array,
    value: Array,
    decay: Array,
    bonus: Array,
    numerator: Array | None = None,
    denominator: Array | None = None,
    exponent: Array | None = None,
) -> Expected | tuple[Expected, ...]:
    """A mean with the weight of every position, relative to the largest of them."""
    batch, length, channels = value.shape
    arrays = (key, value, decay, bonus, numerator, denominator, exponent)
    precision = promoted("float32", *(x.dtype.name for x in arrays if x is not None))

    def terms(sample: int, channel: int, distances: Array, decays: float) -> tuple[Array, Array, Array]:
        """Return exponents, weights without them, and values: of the positions before a place, and of earlier sums."""
        count = len(distances)
        exponents = distances * float(decay[channel]) + double(key[sample, :count, channel])
        values, weights = double(value[sample, :count, channel]), np.ones(count)
        if numerator is None or denominator is None or exponent is None:
            return exponents, weights, values
        before = float(exponent[sample, channel]) + decays * float(decay[channel])
        earlier = float(numerator[sample, channel])
        weights = np.append(weights, float(denominator[sample, channel]))
        return np.append(exponents, before), weights, np.append(values, earlier)

    def output(index: Shape) -> Value:
        sample, place, channel = index
        exponents, weights, values = terms(sample, channel, np.arange(place - 1, -1, -1.0), float(place))
        exponents = np.append(exponents, float(bonus[channel]) + float(key[index]))
        weights, values = np.append(weights, 1.0), np.append(values, float(value[index]))
        scales = np.exp(exponents - exponents.max())
        above, size, _ = total(scales, values)
        below, weight, _ = total(scales, weights)
        return Value(above / below, size / abs(below) + abs(above) * weight / below**2)

    def last(which: int, index: Shape) -> Value:
        sample, channel = index
        exponents, weights, values = terms(sample, channel, np.arange(length - 1, -1, -1.0), float(length))
        largest = float(exponents.max()) if len(exponents) else -1e38
        scales = np.exp(exponents - largest)
        if which < 2:
            return total(scales, (values, weights)[which])
        steps = length - 1 - int(exponents.argmax()) if len(exponents) else 0  # -1 stands for the earlier sums
        decayed = (length if steps < 0 else steps) * float(decay[channel])
        return Value(largest, abs(decayed) + abs(largest - decayed))

    reads = 4 * max(length, 1)
    expected = Expected(value.shape, value.dtype.name, output, reads)
    if not op.return_state:
        return expected
    sums = [Expected((batch, channels), precision, partial(last, which), reads) for which in range(3)]
    return (expected, *sums)
