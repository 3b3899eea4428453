"""PyTorch code of the operations of :mod:`netcalc.ops.rotary`."""

from __future__ import annotations

import math
from typing import Any

from netcalc.formats.export.torch.expressions import literal
from netcalc.formats.export.torch.helpers import helper
from netcalc.formats.export.torch.rules import Call, Emitted, rule

helper('''
def rotary_frequencies(features: int, theta: float) -> Tensor:
    """Return the angle of each pair of features per position."""
    return theta ** -(torch.arange(0, features, 2, dtype=torch.float64) / features)
''')
helper('''
def proportional_frequencies(
    features: int, theta: float, share: float, factor: float
) -> Tensor:
    """Return frequencies of which the last are zero, so that a share of the pairs turns."""
    frequencies = rotary_frequencies(features, theta)
    frequencies[int(share * features // 2) :] = 0.0
    return frequencies / factor
''')
helper('''
def llama3_frequencies(
    features: int, theta: float, factor: float, low: float, high: float, original: int
) -> Tensor:
    """Return frequencies of which the low ones are divided by ``factor`` (Llama 3.1)."""
    frequencies = rotary_frequencies(features, theta)
    turns = original * frequencies / (2 * math.pi)
    share = ((turns - low) / (high - low)).clamp(0.0, 1.0)
    return (1 - share) * frequencies / factor + share * frequencies
''')
helper('''
def yarn_frequencies(
    features: int,
    theta: float,
    factor: float,
    original: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> Tensor:
    """Return frequencies between their own value and that divided by ``factor`` (YaRN)."""

    def dimension(turns: float) -> float:
        span = original / (turns * 2 * math.pi)
        return features * math.log(span) / (2 * math.log(theta))

    low, high = dimension(beta_fast), dimension(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, features - 1)
    width = high - low if high != low else 0.001
    pairs = torch.arange(features // 2, dtype=torch.float64)
    unscaled = 1 - ((pairs - low) / width).clamp(0.0, 1.0)
    frequencies = rotary_frequencies(features, theta)
    return frequencies * unscaled + frequencies / factor * (1 - unscaled)
''')
helper('''
def rotated(
    x: Tensor,
    frequencies: Tensor,
    positions: Tensor | None = None,
    offset: int = 0,
    interleaved: bool = False,
    factor: float = 1.0,
    pairs: int | None = None,
) -> Tensor:
    """Rotate pairs of features by angles that grow with the position (arXiv:2104.09864).

    Args:
        x: queries or keys (…, length, features).
        frequencies: angle of each pair per position.
        positions: position of each element (length) or (batch, length).
        offset: first position, without ``positions``.
        interleaved: pairs are neighbors; otherwise a feature and one of the other half.
        factor: factor of cosines and sines.
        pairs: number of pairs that are rotated; all of them by default.
    """
    if positions is None:
        positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
    if positions.ndim == 2:
        shape = (positions.shape[0], *(1,) * (x.ndim - 3), positions.shape[1])
        positions = positions.reshape(shape)
    angles = positions[..., None] * frequencies.to(x.device)
    cos, sin = (angles.cos() * factor).to(x.dtype), (angles.sin() * factor).to(x.dtype)
    count = 2 * (x.shape[-1] // 2 if pairs is None else pairs)
    turned, rest = x[..., :count], x[..., count:]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
        pair = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1)
        result = pair.flatten(-2)
    else:
        a, b = turned.chunk(2, dim=-1)
        result = torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
    return torch.cat((result, rest), dim=-1) if rest.shape[-1] else result
''')
helper('''
def long_frequencies(
    features: int,
    theta: float,
    length: int | Tensor,
    original: int,
    short: tuple[float, ...],
    long: tuple[float, ...],
) -> Tensor:
    """Return frequencies divided by factors for short or for long contexts (LongRoPE)."""
    divisors = long if int(length) > original else short
    return rotary_frequencies(features, theta) / torch.tensor(divisors).double()
''')
helper('''
def dynamic_frequencies(
    features: int, theta: float, length: int | Tensor, original: int, factor: float
) -> Tensor:
    """Return frequencies whose base grows with the length beyond the original one."""
    stretch = factor * max(int(length) / original, 1.0) - (factor - 1)
    return rotary_frequencies(features, theta * stretch ** (features / (features - 2)))
''')


@rule("rotary_embedding")
def rotary_embedding(call: Call) -> Emitted | str:
    """Write a helper with the frequencies of the scaling."""
    op: Any = call.op
    size = call.type().shape[-1]
    rotated = size if op.rotary_dim is None else op.rotary_dim
    count = rotated if op.rotary_dim is None or op.interleaved else rotated + rotated % 2
    call.helper("rotary_frequencies")
    frequencies, factor = _frequencies(call, call.value(op.rotary_dim or count, "rotary_dim"))
    options = []
    if call.has(1):
        options.append(f"positions={call.input(1)}")
    elif not (isinstance(op.offset, int) and op.offset == 0):
        options.append(f"offset={call.value(op.offset, 'offset')}")
    if op.interleaved:
        options.append("interleaved=True")
    if factor != 1.0:
        options.append(f"factor={factor}")
    if op.rotary_dim is not None:
        options.append(f"pairs={call.value(count // 2, 'pairs')}")
    return f"{call.helper('rotated')}({', '.join([call.x, frequencies, *options])})"


def attention_factor(scaling: Any) -> float:
    """Return the factor of cosines and sines of a scaling for long contexts."""

    def weighted(weight: float) -> float:
        return 0.1 * weight * math.log(scaling.factor) + 1 if scaling.factor > 1 else 1.0

    if scaling.attention_factor is not None:
        return float(scaling.attention_factor)
    if scaling.rope_type == "longrope":
        return math.sqrt(1 + math.log(max(scaling.factor, 1)) / math.log(scaling.original_max_position_embeddings))
    if scaling.mscale and scaling.mscale_all_dim:
        return weighted(scaling.mscale) / weighted(scaling.mscale_all_dim)
    return weighted(1.0)


def _frequencies(call: Call, features: str) -> tuple[str, float]:
    """Return the expression of the frequencies, and the factor of cosines and sines."""
    op: Any = call.op
    scaling = op.scaling
    start = f"{features}, {call.value(op.theta, 'theta')}"
    if scaling is None:
        return f"rotary_frequencies({start})", 1.0
    length = f"{call.x}.shape[{call.type().rank - 2}]"
    if call.has(1):
        length = f"{call.input(1)}.max() + 1"
    elif not (isinstance(op.offset, int) and op.offset == 0):
        length = f"{call.value(op.offset, 'offset')} + {length}"
    match scaling.rope_type:
        case "linear":
            return f"rotary_frequencies({start}) / {scaling.factor}", 1.0
        case "proportional":
            name = call.helper("proportional_frequencies")
            return f"{name}({start}, {scaling.partial_rotary_factor}, {scaling.factor})", 1.0
        case "llama3":
            values = (scaling.factor, scaling.low_freq_factor, scaling.high_freq_factor)
            listed = ", ".join(map(repr, (*values, scaling.original_max_position_embeddings)))
            return f"{call.helper('llama3_frequencies')}({start}, {listed})", 1.0
        case "yarn":
            options = f"{scaling.factor}, {scaling.original_max_position_embeddings}"
            for name, default in (("beta_fast", 32.0), ("beta_slow", 1.0), ("truncate", True)):
                if getattr(scaling, name) != default:
                    options += f", {name}={getattr(scaling, name)}"
            return f"{call.helper('yarn_frequencies')}({start}, {options})", attention_factor(scaling)
        case "dynamic":
            listed = f"{length}, {scaling.original_max_position_embeddings}, {scaling.factor}"
            return f"{call.helper('dynamic_frequencies')}({start}, {listed})", 1.0
    listed = ", ".join(
        (
            length,
            repr(scaling.original_max_position_embeddings),
            literal(scaling.short_factor),
            literal(scaling.long_factor),
        )
    )
    return f"{call.helper('long_frequencies')}({start}, {listed})", attention_factor(scaling)
