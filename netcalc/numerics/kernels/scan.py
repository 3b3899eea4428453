"""Kernels of :mod:`netcalc.ops.scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, apply, by_port, kernel, like, wide
from netcalc.numerics.kernels.activation import silu
from netcalc.ops.activation import Softplus
from netcalc.ops.scan import SelectiveScan, Wkv


def in_working_precision(
    op: Any, inputs: tuple[Array | None, ...]
) -> tuple[dict[str, Array], dict[str, Array], np.dtype[Any]]:
    """Return the inputs by port as they are and in the precision of their arithmetic, and the type of the state."""
    named = by_port(op, inputs)
    arrays = {port: wide(array) for port, array in named.items()}
    return named, arrays, np.result_type(*arrays.values())


def keep_as(run: Run, precision: np.dtype[Any]) -> None:
    """Bring all that was kept to the element type of the state."""
    if run.kept is not None:
        run.kept.update({name: array.astype(precision, copy=False) for name, array in run.kept.items()})


@kernel("selective_scan")
def selective_scan(op: SelectiveScan, run: Run, *inputs: Array | None) -> tuple[Array, Array]:
    named, arrays, precision = in_working_precision(op, inputs)
    u, delta, a = arrays["u"], arrays["delta"], arrays["A"]
    batch, channels, length = u.shape
    if "delta_bias" in arrays:
        delta = delta + arrays["delta_bias"][:, None]
    run.keep(self=delta)
    if op.delta_softplus:
        (delta,) = apply(Softplus(), Run(run.training), (delta,), {})
    weighted = delta * u
    b, c = grouped(arrays["B"], length), grouped(arrays["C"], length)
    state = arrays.get("initial_state", like(u, np.zeros((batch, channels, a.shape[1]), precision)))
    y = like(u, np.empty(u.shape, precision))
    states: list[Array] = []
    decays: list[Array] = []
    for t in range(length):
        decay = np.exp(delta[:, :, t, None] * a)
        written = weighted[:, :, t].reshape(batch, b.shape[2], -1, 1) * b[:, t, :, None, :]
        state = decay * state + written.reshape(decay.shape)
        read = np.matmul(state.reshape(batch, c.shape[2], -1, a.shape[1]), c[:, t, :, :, None])
        y[:, :, t] = read.reshape(batch, channels)
        if run.kept is not None:
            states.append(state)
            decays.append(decay)
    if run.kept is not None:
        run.keep(states=_stacked(states, state), decay=_stacked(decays, state), delta=delta, weighted=weighted)
    if "D" in arrays:
        y = y + u * arrays["D"][:, None]
    if "z" in arrays:
        gate = silu(arrays["z"])
        run.keep(ungated=y, gate=gate)
        y = y * gate
    keep_as(run, precision)
    return y.astype(named["u"].dtype, copy=False), state.astype(precision, copy=False)


def _stacked(parts: list[Array], like_one: Array) -> Array:
    """Return (batch, length, channels, state) from an array for each position, of which there may be none."""
    batch, channels, size = like_one.shape
    return np.asarray(parts, like_one.dtype).reshape(-1, batch, channels, size).swapaxes(0, 1)


def grouped(projection: Array, length: int) -> Array:
    """Return B or C as (batch or 1, length, groups, state); if fixed, with a group for each channel."""
    if projection.ndim == 2:
        return np.broadcast_to(projection, (1, length, *projection.shape), subok=True)
    return projection[:, :, None] if projection.ndim == 3 else projection


@kernel("wkv")
def wkv(op: Wkv, run: Run, *inputs: Array | None) -> Array | tuple[Array, ...]:
    named, arrays, precision = in_working_precision(op, inputs)
    value = named["value"]
    k, v, w, b = (arrays[port] for port in ("key", "value", "decay", "bonus"))
    batch, length, channels = v.shape
    y = like(value, np.empty(v.shape, precision))
    nothing = like(value, np.zeros((batch, channels), precision))
    above, below = arrays.get("numerator", nothing), arrays.get("denominator", nothing)
    largest = arrays.get("exponent", like(value, np.full((batch, channels), -1e38, precision)))
    saved: dict[str, list[Array]] = {}
    for t in range(length):
        own = k[:, t] + b
        up, down, _, factors = _updated_sums(above, below, largest, own, v[:, t])
        y[:, t] = up / down
        if run.kept is not None:
            _append(saved, above=above, below=below, down=down, old_output=factors[0], new_output=factors[1])
        above, below, largest, factors = _updated_sums(above, below, largest + w, k[:, t], v[:, t])
        if run.kept is not None:
            _append(saved, old=factors[0], new=factors[1])
    if run.kept is not None:
        empty = np.zeros((batch, 0, channels), precision)
        kept_names = ("above", "below", "down", "old_output", "new_output", "old", "new")
        run.keep(**{name: np.stack(saved[name], axis=1) if name in saved else empty for name in kept_names})
    output = y.astype(value.dtype, copy=False)
    if not op.return_state:
        return output
    return output, *(x.astype(precision, copy=False) for x in (above, below, largest))


def _append(saved: dict[str, list[Array]], **parts: Array) -> None:
    for name, part in parts.items():
        saved.setdefault(name, []).append(np.asarray(part))


def _updated_sums(
    above: Array, below: Array, largest: Array, exponent: Array, v: Array
) -> tuple[Array, Array, Array, tuple[Array, Array]]:
    """Return the sums with and without values after a further position is added, their largest exponent, and factors.

    The factors multiply the sums before, and the terms of the further position.
    """
    top = np.maximum(largest, exponent)
    old, new = np.exp(largest - top), np.exp(exponent - top)
    return old * above + new * v, old * below + new, top, (old, new)
