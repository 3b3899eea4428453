"""References of :mod:`netcalc.ops.chunked_scan`, without chunks."""

from __future__ import annotations

from functools import cache

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._promotion import promoted
from netcalc.verification.references._sums import double, total
from netcalc.verification.references.scan import at_least_one, largest_growth


@reference("ssd_scan")
def ssd_scan(
    op: Attributes,
    u: Array,
    delta: Array,
    a: Array,
    b: Array,
    c: Array,
    d: Array | None = None,
    delta_bias: Array | None = None,
    initial_state: Array | None = None,
) -> tuple[Expected, Expected]:
    """The recurrence, unrolled: what step s writes has decayed by exp(a·Σ Δ) over the steps after s at step t."""
    batch, length, heads, size = u.shape
    groups, states = b.shape[2:]
    arrays = (u, delta, a, b, c, d, delta_bias, initial_state)
    precision = promoted("float32", *(x.dtype.name for x in arrays if x is not None))

    def written(sample: int, head: int, place: int, upto: int) -> tuple[Array, Array, float]:
        """Return what each step before ``upto``, and the initial state, contribute to the state after it.

        The last result bounds the states, and the factors of their terms, up to this step.
        """
        sizes = double(delta[sample, :upto, head]) + (0 if delta_bias is None else float(delta_bias[head]))
        sizes = np.logaddexp(0, sizes) if op.delta_softplus else sizes
        sizes = np.clip(sizes, op.delta_min, op.delta_max)
        after = np.append(np.cumsum(sizes[::-1])[::-1], 0)[1:]  # the steps between s and the end
        own = sizes * double(u[sample, :upto, head, place])
        projected = double(b[sample, :upto, head // (heads // groups)])
        start = np.zeros(states) if initial_state is None else double(initial_state[sample, head, place])
        return (
            (np.exp(after * float(a[head])) * own)[:, None] * projected,
            start * np.exp(float(sizes.sum()) * float(a[head])),
            largest_growth(sizes * float(a[head]))
            * (at_least_one(own) * at_least_one(projected) * upto + at_least_one(start)),
        )

    def output(index: Shape) -> Value:
        sample, time, head, place = index
        parts, start, largest = written(sample, head, place, time + 1)
        read = double(c[sample, time, head // (heads // groups)])
        value, magnitude, _ = total(np.concatenate([(parts * read).ravel(), start * read]))
        skipped = 0.0 if d is None else float(u[index]) * float(d[head])
        return Value(value + skipped, magnitude + abs(skipped), largest * at_least_one(read) * states)

    def last(index: Shape) -> Value:
        sample, head, place, state = index
        parts, start, largest = written(sample, head, place, length)
        return total([*parts[:, state], start[state]])._replace(largest=largest)

    reads = 4 * states * length
    return (
        Expected(u.shape, u.dtype.name, output, reads),
        Expected((batch, heads, size, states), precision, last, reads),
    )


@reference("gated_delta_rule")
def gated_delta_rule(
    op: Attributes,
    query: Array,
    key: Array,
    value: Array,
    decay: Array,
    beta: Array,
    initial_state: Array | None = None,
) -> tuple[Expected, Expected]:
    """The recurrence position by position; magnitudes are the same sums without cancellation."""
    batch, length, heads, size = value.shape
    key_heads, features = key.shape[2:]
    arrays = (query, key, value, decay, beta, initial_state)
    precision = promoted("float32", *(x.dtype.name for x in arrays if x is not None))

    def features_of(x: Array, sample: int, head: int) -> Array:
        """Return the queries or keys of a head, (length, d_k)."""
        rows = double(x[sample, :, head // (heads // key_heads)])
        return rows / np.sqrt((rows**2).sum(-1, keepdims=True) + 1e-6) if op.normalize else rows

    @cache
    def states(sample: int, head: int) -> list[tuple[Array, Array]]:
        """Return the state after each position, and before the first, each with its magnitude."""
        start = np.zeros((features, size)) if initial_state is None else double(initial_state[sample, head])
        history = [(start, np.abs(start))]
        keys = features_of(key, sample, head)
        for place in range(length):
            fading, rate = np.exp(float(decay[sample, place, head])), float(beta[sample, place, head])
            state, bound = (x * fading for x in history[-1])
            k, v = keys[place], double(value[sample, place, head])
            state = state + np.outer(k, rate * (v - k @ state))
            bound = bound + np.outer(np.abs(k), abs(rate) * (np.abs(v) + np.abs(k) @ bound))
            history.append((state, bound))
        return history

    def output(index: Shape) -> Value:
        sample, place, head, column = index
        q = features_of(query, sample, head)[place] / np.sqrt(features)
        state, bound = states(sample, head)[place + 1]
        return Value(float(q @ state[:, column]), float(np.abs(q) @ bound[:, column]))

    def last(index: Shape) -> Value:
        sample, head, row, column = index
        state, bound = states(sample, head)[-1]
        return Value(float(state[row, column]), float(bound[row, column]))

    reads = 4 * features * length
    return (
        Expected(value.shape, value.dtype.name, output, reads),
        Expected((batch, heads, features, size), precision, last, reads),
    )
