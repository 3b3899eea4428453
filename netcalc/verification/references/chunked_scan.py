"""References of :mod:`netcalc.ops.chunked_scan`, without chunks."""

from __future__ import annotations

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference
from netcalc.verification.references._promotion import promoted
from netcalc.verification.references._sums import double, total


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
    given = (u, delta, a, b, c, d, delta_bias, initial_state)
    precision = promoted("float32", *(x.dtype.name for x in given if x is not None))

    def written(sample: int, head: int, place: int, upto: int) -> tuple[Array, Array]:
        """Return what each step before ``upto``, and the initial state, contributes to the state after it."""
        sizes = double(delta[sample, :upto, head]) + (0 if delta_bias is None else float(delta_bias[head]))
        sizes = np.logaddexp(0, sizes) if op.delta_softplus else sizes
        sizes = np.clip(sizes, op.delta_min, op.delta_max)
        after = np.append(np.cumsum(sizes[::-1])[::-1], 0)[1:]  # the steps between s and the end
        shares = np.exp(after * float(a[head])) * sizes * double(u[sample, :upto, head, place])
        parts = shares[:, None] * double(b[sample, :upto, head // (heads // groups)])
        start = np.zeros(states) if initial_state is None else double(initial_state[sample, head, place])
        return parts, start * np.exp(float(sizes.sum()) * float(a[head]))

    def output(index: Shape) -> Value:
        sample, time, head, place = index
        parts, start = written(sample, head, place, time + 1)
        read = double(c[sample, time, head // (heads // groups)])
        value, magnitude = total(np.concatenate([(parts * read).ravel(), start * read]))
        skipped = 0.0 if d is None else float(u[index]) * float(d[head])
        return Value(value + skipped, magnitude + abs(skipped))

    def last(index: Shape) -> Value:
        sample, head, place, state = index
        parts, start = written(sample, head, place, length)
        return total([*parts[:, state], start[state]])

    reads = 4 * states * length
    return (
        Expected(u.shape, u.dtype.name, output, reads),
        Expected((batch, heads, size, states), precision, last, reads),
    )
