"""Layers inside of other layers."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.configuration import MODELS, Layer
from netcalc.formats.keras.problems import clipped


def wrapped(call: Call, setting: str) -> Layer:
    """Return the layer that a setting has; RuleError if it is none that can be inside of another."""
    return layer_in(call, setting, call.get(setting))


def layer_in(call: Call, setting: str, data: Any) -> Layer:
    """Return the layer that a part of a setting is; RuleError if it is none that can be inside of another."""
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict) or not isinstance(data.get("class_name"), str):
        raise RuleError(f"{setting} is no layer")
    kind, module = data["class_name"], data.get("module")
    module = module if isinstance(module, str) else ""
    if kind in MODELS:
        raise RuleError(f"a model inside of {call.layer.kind} is not supported")
    is_own = module == "keras" or module.startswith("keras.")
    if not is_own:
        raise RuleError(f"{clipped(kind)} inside of it is a custom object, whose code the file does not have")
    return Layer(str(config.get("name", setting)), kind, module, config, is_own=is_own)
