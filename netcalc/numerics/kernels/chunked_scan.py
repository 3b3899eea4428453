"""Kernels of :mod:`netcalc.ops.chunked_scan`."""

from __future__ import annotations

import numpy as np

from netcalc.numerics.kernels import Array, Run, apply, by_port, kernel, like, wide
from netcalc.ops.activation import Softplus
from netcalc.ops.chunked_scan import GatedDeltaRule, SsdScan


@kernel("ssd_scan")
def ssd_scan(op: SsdScan, run: Run, *inputs: Array | None) -> tuple[Array, Array]:
    named: dict[str, Array] = by_port(op, inputs)
    given = {port: wide(array) for port, array in named.items()}
    precision = np.result_type(*given.values())
    u, delta = given["u"], _steps(op, run, given)
    batch, length, heads, size = u.shape
    written = _chunked(u * delta[..., None], op.chunk)
    decay = _chunked((delta * given["a"])[..., None], op.chunk)[..., 0]
    b, c = (_chunked(_every_head(given[port], heads), op.chunk) for port in ("B", "C"))
    upto = np.add.accumulate(decay, axis=-1)

    scores = np.matmul(c, b.swapaxes(-1, -2)) * np.exp(_between(decay))
    y = np.matmul(scores, written)

    remaining = np.exp(upto[..., -1:] - upto)
    states = np.matmul(written.swapaxes(-1, -2), b * remaining[..., None])
    start = given.get("initial_state", like(u, np.zeros(states[:, 0].shape, precision)))
    states = like(u, np.concatenate([start[:, None], states], axis=1))
    whole = like(u, np.pad(upto[..., -1], ((0, 0), (1, 0), (0, 0))))
    passing = np.exp(_between(whole.swapaxes(1, 2)))
    flat = states.swapaxes(1, 2).reshape(batch, heads, states.shape[1], -1)
    states = np.matmul(passing, flat).reshape(batch, heads, states.shape[1], size, -1).swapaxes(1, 2)

    y = y + np.matmul(c, states[:, :-1].swapaxes(-1, -2)) * np.exp(upto)[..., None]
    y = y.swapaxes(2, 3).reshape(batch, -1, heads, size)[:, :length]
    if "D" in given:
        y = y + u * given["D"][:, None]
    return y.astype(named["u"].dtype, copy=False), states[:, -1].astype(precision, copy=False)


def _steps(op: SsdScan, run: Run, given: dict[str, Array]) -> Array:
    """Return Δ after its bias, softplus and limits."""
    delta = given["delta"]
    if "delta_bias" in given:
        delta = delta + given["delta_bias"]
    if op.delta_softplus:
        (delta,) = apply(Softplus(), run, (delta,), {})
    limited: Array = np.maximum(delta, delta.dtype.type(op.delta_min))
    if op.delta_max is not None:
        limited = np.minimum(limited, delta.dtype.type(op.delta_max))
    return limited


def _every_head(x: Array, heads: int) -> Array:
    """Return (batch, length, groups, features) with the group of each head: (batch, length, heads, features)."""
    batch, length, groups, features = x.shape
    spread = np.broadcast_to(x[:, :, :, None], (batch, length, groups, heads // groups, features), subok=True)
    return spread.reshape(batch, length, heads, features)


def _chunked(x: Array, chunk: int) -> Array:
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
    named: dict[str, Array] = by_port(op, inputs)
    given = {port: wide(array) for port, array in named.items()}
    precision = np.result_type(*given.values())
    value = given["value"]
    batch, length, heads, size = value.shape
    query, key = (_every_head(given[port], heads) for port in ("query", "key"))
    if op.normalize:
        query, key = _normalized(query), _normalized(key)
    query = query * query.dtype.type(query.shape[-1] ** -0.5)
    beta = given["beta"][..., None]
    values, writes = _chunked(value * beta, op.chunk), _chunked(key * beta, op.chunk)
    query, key = _chunked(query, op.chunk), _chunked(key, op.chunk)
    upto = np.add.accumulate(_chunked(given["decay"][..., None], op.chunk)[..., 0], axis=-1)

    lower = np.tri(op.chunk, dtype=bool)
    between = upto[..., :, None] - upto[..., None, :]
    between = np.exp(like(value, np.where(lower, between, between.dtype.type(-np.inf))))
    system = np.matmul(writes, key.swapaxes(-1, -2)) * between
    scores = np.matmul(query, key.swapaxes(-1, -2)) * between
    since = np.exp(upto)[..., None]
    solved = _solved(system, like(value, np.concatenate([values, writes * since], axis=-1)))
    values, predicting = solved[..., :size], solved[..., size:]

    query = query * since
    key = key * np.exp(upto[..., -1:] - upto)[..., None]
    fading = np.exp(upto[..., -1])[..., None, None]
    state = given.get("initial_state", like(value, np.zeros((batch, heads, key.shape[-1], size), precision)))
    y = like(value, np.empty(values.shape, precision))
    for i in range(values.shape[1]):
        added = values[:, i] - np.matmul(predicting[:, i], state)
        y[:, i] = np.matmul(query[:, i], state) + np.matmul(scores[:, i], added)
        state = state * fading[:, i] + np.matmul(key[:, i].swapaxes(-1, -2), added)
    y = y.swapaxes(2, 3).reshape(batch, -1, heads, size)[:, :length]
    return y.astype(named["value"].dtype, copy=False), state.astype(precision, copy=False)


def _normalized(x: Array) -> Array:
    squares = np.add.reduce(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-6)
    normalized: Array = x * (1 / np.sqrt(squares))
    return normalized


def _solved(system: Array, right: Array) -> Array:
    """Return the solution of (1 + the strictly lower triangle of the system)·x = right, by forward substitution."""
    x = like(system, np.array(right))
    for i in range(system.shape[-1] - 1):
        x[..., i + 1 :, :] = x[..., i + 1 :, :] - system[..., i + 1 :, i, None] * x[..., i : i + 1, :]
    return x
