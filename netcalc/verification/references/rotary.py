"""Reference of :mod:`netcalc.ops.rotary`: pairs of features as complex numbers that are turned by an angle.

The scaled frequencies follow transformers.modeling_rope_utils.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, reference

#: Rounding of double precision in units of the one of float32.
_DOUBLE = 2.0**-29


@reference("rotary_embedding")
def rotary_embedding(op: Attributes, x: Array, positions: Array | None = None) -> Expected:
    features = op.rotary_dim or x.shape[-1]
    turned = features if op.interleaved else features + features % 2
    places = range(op.offset, op.offset + x.shape[-2]) if positions is None else positions.ravel().tolist()
    length = max(places, default=0) + 1

    def place_of(index: Shape) -> int:
        if positions is None:
            return int(op.offset) + index[-2]
        if positions.ndim == 1:
            return int(positions[index[-2]])
        return int(positions[index[0] if len(positions) > 1 else 0, index[-2]])

    def at(index: Shape) -> Any:
        *lead, feature = index
        if feature >= turned:
            return x[index]
        half = turned // 2
        pair, second = (feature // 2, feature % 2) if op.interleaved else (feature % half, feature // half)
        first, other = (2 * pair, 2 * pair + 1) if op.interleaved else (pair, pair + half)
        number = complex(float(x[(*lead, first)]), float(x[(*lead, other)]))
        frequency, factor = _frequency_of_pair(op, pair, features, length)
        angle = place_of(index) * frequency
        moved = number * factor * cmath.exp(1j * angle)
        # angles are in double precision; those beyond its digits have any cosine
        turns = 1 + abs(angle) * _DOUBLE
        return Value(moved.imag if second else moved.real, abs(factor) * (abs(number.real) + abs(number.imag)) * turns)

    return Expected(x.shape, x.dtype.name, at, 3)


def _frequency_of_pair(op: Attributes, pair: int, features: int, length: int) -> tuple[float, float]:
    """Return the angle of a pair per position, and the factor of its cosine and sine."""
    scaling = op.scaling
    plain = 1 / op.theta ** (2 * pair / features)
    if scaling is None:
        return plain, 1.0
    if scaling.rope_type == "linear":
        return plain / scaling.factor, 1.0
    if scaling.rope_type == "proportional":
        turns = pair < int(scaling.partial_rotary_factor * features // 2)
        return (plain / scaling.factor if turns else 0.0), 1.0
    original = scaling.original_max_position_embeddings
    if scaling.rope_type == "dynamic":
        longest = max(length, original)
        base = op.theta * ((scaling.factor * longest / original) - (scaling.factor - 1)) ** (features / (features - 2))
        return 1 / base ** (2 * pair / features), 1.0
    if scaling.rope_type == "llama3":
        return _llama3(scaling, plain), 1.0
    if scaling.rope_type == "yarn":
        return _yarn(scaling, pair, features, op.theta), _yarn_factor(scaling)
    factor = scaling.attention_factor
    if factor is None:
        factor = 1.0 if scaling.factor <= 1 else math.sqrt(1 + math.log(scaling.factor) / math.log(original))
    divisors = scaling.long_factor if length > original else scaling.short_factor
    return plain / divisors[pair], factor


def _llama3(scaling: Any, plain: float) -> float:
    original = float(scaling.original_max_position_embeddings)
    wavelength = 2 * math.pi / plain
    if wavelength < original / scaling.high_freq_factor:
        return plain
    if wavelength > original / scaling.low_freq_factor:
        return plain / float(scaling.factor)
    slow, fast = float(scaling.low_freq_factor), float(scaling.high_freq_factor)
    smooth = (original / wavelength - slow) / (fast - slow)
    return (1 - smooth) * plain / float(scaling.factor) + smooth * plain


def _yarn(scaling: Any, pair: int, features: int, theta: float) -> float:
    original: int = scaling.original_max_position_embeddings
    # the number of the pair that turns beta times over the original length: beta·2π = length/theta^(2·pair/features)
    ends = [
        features / 2 * math.log(original / (2 * math.pi * beta), theta)
        for beta in (scaling.beta_fast, scaling.beta_slow)
    ]
    first, last = (math.floor(ends[0]), math.ceil(ends[1])) if scaling.truncate else ends
    low, high = float(max(first, 0)), float(min(last, features - 1))
    if low == high:
        high += 0.001
    ramp = min(max((pair - low) / (high - low), 0), 1)
    plain = math.pow(theta, -2 * pair / features)
    return plain / float(scaling.factor) * ramp + plain * (1 - ramp)


def _yarn_factor(scaling: Any) -> float:
    def weighted(weight: float) -> float:
        return 1.0 if scaling.factor <= 1 else 0.1 * weight * math.log(scaling.factor) + 1.0

    if scaling.attention_factor is not None:
        return float(scaling.attention_factor)
    if scaling.mscale and scaling.mscale_all_dim:
        return weighted(scaling.mscale) / weighted(scaling.mscale_all_dim)
    return weighted(1.0)
