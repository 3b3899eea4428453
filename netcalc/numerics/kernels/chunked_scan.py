"""Kernels of :mod:`netcalc.ops.chunked_scan`."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, apply, kernel, like
from netcalc.numerics.kernels.scan import in_working_precision, keep_as
from netcalc.ops.activation import Softplus
from netcalc.ops.chunked_scan import GatedDeltaRule, SsdScan


@kernel("ssd_scan")
def ssd_scan(op: SsdScan, run: Run, *inputs: Array | None) -> tuple[Array, Array]:
    named, arrays, precision = in_working_precision(op, inputs)
    u, delta = arrays["u"], _steps(op, run, arrays)
    batch, length, heads, size = u.shape
    written = chunked(u * delta[..., None], op.chunk)
    decay = chunked((delta * arrays["a"])[..., None], op.chunk)[..., 0]
    b, c = (chunked(every_head(arrays[port], heads), op.chunk) for port in ("B", "C"))
    upto = np.add.accumulate(decay, axis=-1)

    between = np.exp(_between(decay))
    scores = np.matmul(c, b.swapaxes(-1, -2)) * between
    y = np.matmul(scores, written)

    remaining = np.exp(upto[..., -1:] - upto)
    b_decayed = b * remaining[..., None]
    states = np.matmul(written.swapaxes(-1, -2), b_decayed)
    start = arrays.get("initial_state", like(u, np.zeros(states[:, 0].shape, precision)))
    states = like(u, np.concatenate([start[:, None], states], axis=1))
    run.keep(entering=states)
    totals = like(u, np.pad(upto[..., -1], ((0, 0), (1, 0), (0, 0))))
    passing = np.exp(_between(totals.swapaxes(1, 2)))
    flat = states.swapaxes(1, 2).reshape(batch, heads, states.shape[1], -1)
    states = np.matmul(passing, flat).reshape(batch, heads, states.shape[1], size, -1).swapaxes(1, 2)

    read, since = np.matmul(c, states[:, :-1].swapaxes(-1, -2)), np.exp(upto)
    run.keep(steps=delta, written=written, scores=scores, between=between, remaining=remaining)
    run.keep(b_decayed=b_decayed, passing=passing, states=states, since=since, read=read)
    keep_as(run, precision)
    y = y + read * since[..., None]
    y = y.swapaxes(2, 3).reshape(batch, -1, heads, size)[:, :length]
    if "D" in arrays:
        y = y + u * arrays["D"][:, None]
    return y.astype(named["u"].dtype, copy=False), states[:, -1].astype(precision, copy=False)


def _steps(op: SsdScan, run: Run, arrays: dict[str, Array]) -> Array:
    """Return Δ after its bias, softplus and limits."""
    delta = arrays["delta"]
    if "delta_bias" in arrays:
        delta = delta + arrays["delta_bias"]
    if op.delta_softplus:
        run.keep(biased=delta)
        (delta,) = apply(Softplus(), Run(run.training), (delta,), {})
    run.keep(self=delta)
    limited: Array = np.maximum(delta, delta.dtype.type(op.delta_min))
    if op.delta_max is not None:
        limited = np.minimum(limited, delta.dtype.type(op.delta_max))
    return limited


def every_head(x: Array, heads: int) -> Array:
    """Return (batch, length, groups, features) with the group of each head: (batch, length, heads, features)."""
    batch, length, groups, features = x.shape
    spread = np.broadcast_to(x[:, :, :, None], (batch, length, groups, heads // groups, features), subok=True)
    return spread.reshape(batch, length, heads, features)


def chunked(x: Array, chunk: int) -> Array:
    """Return (batch, length, heads, features) as (batch, chunks, heads, chunk, features), padded with zeros."""
    batch, length, heads, features = x.shape
    padded = like(x, np.pad(x, ((0, 0), (0, -length % chunk), (0, 0), (0, 0))))
    return padded.reshape(batch, -1, chunk, heads, features).swapaxes(2, 3)


def _between(x: Array) -> Array:
    """Return the sum of the last axis over the places after j up to i, at [i, j]; −∞ where j is after i."""
    places = x.shape[-1]
    below = np.tri(places, k=-1, dtype=bool)
    repeated = like(x, np.where(below, x[..., None], x.dtype.type(0)))
    sums = np.add.accumulate(repeated, axis=-2)
    return like(x, np.where(np.tri(places, dtype=bool), sums, x.dtype.type(-np.inf)))


@kernel("gated_delta_rule")
def gated_delta_rule(op: GatedDeltaRule, run: Run, *inputs: Array | None) -> tuple[Array, Array]:
    named, arrays, precision = in_working_precision(op, inputs)
    value = arrays["value"]
    batch, length, heads, size = value.shape
    query, key = (every_head(arrays[port], heads) for port in ("query", "key"))
    if op.normalize:
        query, key = _unit_vectors(run, "query", query), _unit_vectors(run, "key", key)
    query = query * query.dtype.type(query.shape[-1] ** -0.5)
    beta = arrays["beta"][..., None]
    values, writes = chunked(value * beta, op.chunk), chunked(key * beta, op.chunk)
    query, key = chunked(query, op.chunk), chunked(key, op.chunk)
    upto = np.add.accumulate(chunked(arrays["decay"][..., None], op.chunk)[..., 0], axis=-1)

    lower = np.tri(op.chunk, dtype=bool)
    between = upto[..., :, None] - upto[..., None, :]
    between = np.exp(like(value, np.where(lower, between, between.dtype.type(-np.inf))))
    system = np.matmul(writes, key.swapaxes(-1, -2)) * between
    scores = np.matmul(query, key.swapaxes(-1, -2)) * between
    since = np.exp(upto)[..., None]
    solved = _solve(system, like(value, np.concatenate([values, writes * since], axis=-1)))
    values, predicting = solved[..., :size], solved[..., size:]

    run.keep(query=query, key=key, writes=writes, between=between, system=system, scores=scores, since=since[..., 0])
    remaining = np.exp(upto[..., -1:] - upto)
    query, key = query * since, key * remaining[..., None]
    fading = np.exp(upto[..., -1])[..., None, None]
    run.keep(remaining=remaining, fading=fading[..., 0, 0], solved=solved, decayed_query=query, decayed_key=key)
    state = arrays.get("initial_state", like(value, np.zeros((batch, heads, key.shape[-1], size), precision)))
    y = like(value, np.empty(values.shape, precision))
    steps: list[tuple[Array, Array]] = []
    for i in range(values.shape[1]):
        added = values[:, i] - np.matmul(predicting[:, i], state)
        steps.append((np.asarray(state), np.asarray(added)))
        y[:, i] = np.matmul(query[:, i], state) + np.matmul(scores[:, i], added)
        state = state * fading[:, i] + np.matmul(key[:, i].swapaxes(-1, -2), added)
    if run.kept is not None:
        run.keep(states=np.stack([s for s, _ in steps], axis=1), added=np.stack([a for _, a in steps], axis=1))
    keep_as(run, precision)
    y = y.swapaxes(2, 3).reshape(batch, -1, heads, size)[:, :length]
    return y.astype(named["value"].dtype, copy=False), state.astype(precision, copy=False)


def _unit_vectors(run: Run, name: str, x: Array) -> Array:
    squares = np.add.reduce(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-6)
    inverse = 1 / np.sqrt(squares)
    normalized: Array = x * inverse
    run.keep(**{f"normal_{name}": normalized, f"inverse_{name}": inverse})
    return normalized


def _solve(system: Array, right: Array) -> Array:
    """Return the solution of (1 + the strictly lower triangle of the system)·x = right, by forward substitution."""
    x = like(system, np.array(right))
    for i in range(system.shape[-1] - 1):
        x[..., i + 1 :, :] = x[..., i + 1 :, :] - system[..., i + 1 :, i, None] * x[..., i : i + 1, :]
    return x
