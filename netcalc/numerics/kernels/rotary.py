"""Kernels of :mod:`netcalc.ops.rotary`."""

from __future__ import annotations

import math

import numpy as np

from netcalc.arrays import Array
from netcalc.numerics.kernels import Run, kernel, like, wide
from netcalc.ops.rotary import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    ProportionalScaling,
    RotaryEmbedding,
    YarnScaling,
)


@kernel("rotary_embedding")
def rotary_embedding(op: RotaryEmbedding, run: Run, x: Array, positions: Array | None = None) -> Array:
    first, second, cos, sin = rotation(op, x, positions)
    a, b = wide(x[..., first]), wide(x[..., second])
    y = x.copy()
    y[..., first] = a * cos - b * sin
    y[..., second] = b * cos + a * sin
    return y


def rotation(op: RotaryEmbedding, x: Array, positions: Array | None) -> tuple[slice, slice, Array, Array]:
    """Return the slices of the features of each pair, and the cosines and sines that broadcast to them."""
    rotated = x.shape[-1] if op.rotary_dim is None else op.rotary_dim
    if op.rotary_dim is not None and not op.interleaved:
        rotated += rotated % 2
    places = np.arange(op.offset, op.offset + x.shape[-2]) if positions is None else np.asarray(positions)
    if places.ndim == 2:  # (batch, length): insert the axes between
        places = places.reshape(len(places), *(1,) * (x.ndim - 3), places.shape[1])
    cos, sin = (like(x, table.astype(wide(x).dtype)) for table in tables(op, rotated, places))
    return *halves(op, rotated), cos, sin


def halves(op: RotaryEmbedding, rotated: int) -> tuple[slice, slice]:
    """Return the slices of the first and of the second feature of each pair."""
    if op.interleaved:
        return slice(0, rotated, 2), slice(1, rotated, 2)
    return slice(rotated // 2), slice(rotated // 2, rotated)


def tables(op: RotaryEmbedding, rotated: int, places: Array) -> tuple[Array, Array]:
    """Return the cosines and the sines (…, positions, pairs)."""
    speeds, factor = frequencies(op, op.rotary_dim or rotated, int(places.max(initial=0)) + 1)
    angles = places[..., None] * speeds
    return np.cos(angles) * factor, np.sin(angles) * factor


def frequencies(op: RotaryEmbedding, rotated: int, length: int) -> tuple[Array, float]:
    """Return the angle of each pair per position, for ``rotary_dim`` features, and the factor of cos and sin.

    ``length`` is the number of positions up to the last one, on which some scalings depend.
    """
    scaling = op.scaling
    theta = op.theta
    if isinstance(scaling, DynamicScaling):
        stretch = scaling.factor * max(length / scaling.original_max_position_embeddings, 1) - (scaling.factor - 1)
        theta *= stretch ** (rotated / (rotated - 2))
    speeds = theta ** -(np.arange(0, rotated, 2) / rotated)
    match scaling:
        case LinearScaling():
            return speeds / scaling.factor, 1.0
        case ProportionalScaling():
            turned = int(scaling.partial_rotary_factor * rotated // 2)
            speeds[turned:] = 0
            return speeds / scaling.factor, 1.0
        case Llama3Scaling():
            return _llama3(scaling, speeds), 1.0
        case YarnScaling():
            return _yarn(scaling, speeds, theta), _yarn_factor(scaling)
        case LongScaling():
            original = scaling.original_max_position_embeddings
            divisors = scaling.long_factor if length > original else scaling.short_factor
            factor = scaling.attention_factor
            if factor is None:
                factor = math.sqrt(1 + math.log(max(scaling.factor, 1)) / math.log(original))
            return speeds / np.array(divisors), factor
    return speeds, 1.0


def _llama3(scaling: Llama3Scaling, frequencies: Array) -> Array:
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    turns = scaling.original_max_position_embeddings * frequencies / (2 * math.pi)
    divided = frequencies / scaling.factor
    if low == high:  # as in Llama 4: nothing is between
        return np.where(turns < low, divided, frequencies)
    share = (turns - low) / (high - low)
    blend = (1 - share) * divided + share * frequencies
    return np.where(turns < low, divided, np.where(turns > high, frequencies, blend))


def _yarn(scaling: YarnScaling, frequencies: Array, theta: float) -> Array:
    rotated = 2 * len(frequencies)

    def dimension(turns: float) -> float:
        """Return the dimension whose pair makes that many rotations over the original length."""
        span = scaling.original_max_position_embeddings / (turns * 2 * math.pi)
        return rotated * math.log(span) / (2 * math.log(theta))

    low, high = dimension(scaling.beta_fast), dimension(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rotated - 1)
    width = high - low if high != low else 0.001
    unscaled: Array = 1 - np.clip((np.arange(rotated // 2) - low) / width, 0, 1)
    blended: Array = frequencies * unscaled + frequencies / scaling.factor * (1 - unscaled)
    return blended


def _yarn_factor(scaling: YarnScaling) -> float:
    def weighted(weight: float) -> float:
        return 0.1 * weight * math.log(scaling.factor) + 1 if scaling.factor > 1 else 1.0

    if scaling.attention_factor is not None:
        return scaling.attention_factor
    if scaling.mscale and scaling.mscale_all_dim:
        return weighted(scaling.mscale) / weighted(scaling.mscale_all_dim)
    return weighted(1.0)
