"""Rotary position embedding in configurations, which transformers has written in several ways.

Version 5 has ``rope_parameters``, for all layers or for each type of layer, earlier ones ``rope_theta`` and
``rope_scaling``, some models names of their own.  The earlier fields are what tables use: ``rope_theta``,
``rope_scaling``, ``partial_rotary_factor``, ``rope_local_base_freq`` of the layers with a sliding window,
``mrope_section`` of pairs of features with positions of their own, and ``llama_4_scaling_beta`` of Ministral 3's scale
of queries.  Defaults within a scaling come from transformers.modeling_rope_utils.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.diagnostics import written
from netcalc.ops.rotary import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    LongScaling,
    ProportionalScaling,
    YarnScaling,
)

#: The fields that these are read from.
SOURCES = ("rope_parameters", "rope_scaling", "rope_theta")
#: Fields that give the same for layers of a type, each with its name in version 4.
_BY_LAYER_TYPE = {"full_attention": "rope_theta", "sliding_attention": "rope_local_base_freq"}


def rope_fields(config: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of rotary embeddings that ``config`` gives, by the names of version 4.

    ``fields`` are the fields that the table has.

    Raises:
        ValueError: with the reason, if they are malformed.
    """
    stated = config.get("rope_parameters") or config.get("rope_scaling")
    parameters = stated or {}
    if not isinstance(parameters, dict):
        raise ValueError("should be an object")
    rope: dict[str, Any] = {}
    if any(isinstance(value, dict) for value in parameters.values()):
        unknown = next((name for name in parameters if name not in _BY_LAYER_TYPE), None)
        if unknown is not None:
            raise ValueError(f"layers of type {unknown!r} are not known")
        for layer_type, name in _BY_LAYER_TYPE.items():
            if parameters.get(layer_type) is None:
                continue
            theta, scaling, share = _rope_parts(parameters[layer_type], config, fields)
            if layer_type == "full_attention":
                rope["rope_scaling"] = scaling
            elif scaling is not None:
                raise ValueError("scaling of layers with a sliding window is not known")
            if share is not None:
                rope[_SHARE] = share
            if theta is not None:
                rope[name] = theta
    else:
        if "mrope_section" in fields:
            parameters = {name: "default" if value == "mrope" else value for name, value in parameters.items()}
            if (sections := parameters.pop("mrope_section", None)) is not None:
                rope["mrope_section"] = sections
            parameters.pop("mrope_interleaved", None)  # no class reads it
        if "llama_4_scaling_beta" in fields and stated:
            parameters, scale = _query_scale(parameters, config)
            rope |= scale
        theta, scaling, share = _rope_parts(parameters, config, fields)
        if stated:  # otherwise the class has its default
            rope["rope_scaling"] = scaling
        if theta is not None:
            rope["rope_theta"] = theta
        if share is not None:
            rope[_SHARE] = share
    return {name: value for name, value in rope.items() if name in fields or value is not None}


def _rope_parts(
    parameters: Any, config: Mapping[str, Any], fields: Mapping[str, Any]
) -> tuple[float | None, dict[str, Any] | None, float | None]:
    """Return the base, the scaling and the share of rotated features."""
    if not isinstance(parameters, dict):
        raise ValueError("should be an object for each type of layer")
    rest = dict(parameters)
    theta, share = rest.pop("rope_theta", None), rest.pop(_SHARE, None)
    kind = _kind(rest)
    rest = {name: value for name, value in rest.items() if name not in ("rope_type", "type")}
    # classes that rotate a share of the features alone would take the share twice
    if kind not in ("default", *_KINDS) or (kind == "proportional" and _SHARE in fields):
        raise ValueError(f"rope_type {written(kind, quoted=True)} is not known")
    if kind == "default":
        if rest:
            raise ValueError(f"{next(iter(rest))!r} is not known without a scaling")
        return theta, None, share
    if kind == "proportional" and share is not None:
        rest[_SHARE], share = share, None
    longest = config.get("max_position_embeddings")
    original = config.get("original_max_position_embeddings")
    if kind in _WITH_ORIGINAL and (original is not None or rest.get(_ORIGINAL) is None):
        rest[_ORIGINAL] = original if original is not None else longest
    if kind == "dynamic":
        rest[_ORIGINAL] = longest
    if kind == "longrope" and rest.get("factor") is None and _is_size(longest) and _is_size(rest.get(_ORIGINAL)):
        rest["factor"] = longest / rest[_ORIGINAL]
    return theta, {"rope_type": kind, **_read(kind, rest)}, share


def _read(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a kind of scaling reads; ValueError for one that is missing or that no kind has."""
    declared = _KINDS[kind].model_fields
    known = {*_OF_FAMILIES, *_WITHOUT_EFFECT}.union(*(other.model_fields for other in _KINDS.values()))
    for name in given:
        if name not in known:
            raise ValueError(f"{name!r} of {kind} is not known")
    for name, field in declared.items():
        if name != "rope_type" and field.is_required() and given.get(name) is None:
            raise ValueError(f"{name!r} of {kind} is missing")
    return {name: value for name, value in given.items() if name in (*declared, *_OF_FAMILIES) and value is not None}


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _query_scale(parameters: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the other parameters, and the fields of Ministral 3's scale of queries."""
    rest = {name: value for name, value in parameters.items() if name != "max_position_embeddings"}
    scaled = _kind(rest) in _WITH_ORIGINAL
    length = rest.get(_ORIGINAL, config.get("max_position_embeddings") if scaled else None)
    if not scaled:
        rest.pop(_ORIGINAL, None)
    return rest, {"llama_4_scaling_beta": rest.pop("llama_4_scaling_beta", None), _ORIGINAL: length}


def _kind(parameters: Mapping[str, Any]) -> Any:
    """Return the kind of scaling by its present name."""
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    # the positions of images have two axes, and the same angles
    return {"su": "longrope", "axial": "default"}.get(kind, kind) if isinstance(kind, str) else kind


#: What each kind of scaling reads; others leave the parameters of another kind unread, as transformers does.
_KINDS = {
    "dynamic": DynamicScaling,
    "linear": LinearScaling,
    "llama3": Llama3Scaling,
    "longrope": LongScaling,
    "proportional": ProportionalScaling,
    "yarn": YarnScaling,
}
#: What the tables of families read.
_OF_FAMILIES = ("alpha",)
#: What training left there.
_WITHOUT_EFFECT = ("finetuned",)
_WITH_ORIGINAL = ("llama3", "yarn", "longrope")
_ORIGINAL = "original_max_position_embeddings"
_SHARE = "partial_rotary_factor"
