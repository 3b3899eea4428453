"""Scaling of rotary angles in the metadata of GGUF, as specs have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.diagnostics import written

#: The keys that say how angles are scaled.
PREFIX = "rope.scaling"
#: Tensors with divisors of the frequencies, and with those for short and for long lengths.
DIVISORS = (("rope_freqs.weight",), ("rope_factors_short.weight", "rope_factors_long.weight"))
_NAMES = {
    "factor": "factor",
    "original_context_length": "original_max_position_embeddings",
    "attn_factor": "attention_factor",
    "yarn_attn_factor": "attention_factor",
    "yarn_beta_fast": "beta_fast",
    "yarn_beta_slow": "beta_slow",
}
_OF_KIND = {
    "linear": {"factor"},
    "yarn": {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow"},
}
#: Keys without an effect on the angles, and those with values that have none.
_IDLE = {"finetuned"}
_NEUTRAL: dict[str, tuple[Any, ...]] = {"yarn_ext_factor": (1.0,), "yarn_log_multiplier": (0.0,), "alpha": (0.0,)}


def rope_scaling(
    settings: Mapping[str, Any], context_length: Any, divisors: Sequence[list[float]]
) -> dict[str, Any] | None:
    """Return the scaling that the keys after ``rope.scaling.`` and tensors describe, or None.

    ``divisors`` are divisors of the frequencies that tensors hold: for all lengths, or for short and for long ones.

    Raises:
        ValueError: with the reason, if it is not known.
    """
    kind = settings.get("type", "none")
    if kind not in ("none", "longrope", *_OF_KIND):
        raise ValueError(f"rope.scaling.type = {written(kind, quoted=True)} is not known")
    if divisors and kind in _OF_KIND:
        raise ValueError(f"rope.scaling.type = {kind!r} beside factors in tensors is not known")
    if divisors:
        return _by_frequency(settings, context_length, divisors)
    if kind not in _OF_KIND:
        return None
    scaling: dict[str, Any] = {}
    for key, value in settings.items():
        name = _NAMES.get(key)
        if key == "type" or key in _IDLE or value in _NEUTRAL.get(key, ()):
            continue
        if name not in _OF_KIND[kind]:
            if name is not None:
                continue  # of another kind: the reader does not look at it
            raise ValueError(f"rope.scaling.{key} = {written(value)} is not known")
        scaling[name] = value
    if kind == "yarn":
        scaling.setdefault("original_max_position_embeddings", context_length)
    return {"rope_type": kind, "factor": 1.0, **scaling}


def _by_frequency(settings: Mapping[str, Any], context_length: Any, divisors: Sequence[list[float]]) -> dict[str, Any]:
    """Return the scaling by divisors of the frequencies, those for short lengths first."""
    return {
        "rope_type": "longrope",
        "short_factor": divisors[0],
        "long_factor": divisors[-1],
        "original_max_position_embeddings": settings.get("original_context_length", context_length),
        "factor": 1.0,
        "attention_factor": settings.get("attn_factor", 1.0),
    }
