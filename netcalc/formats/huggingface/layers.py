"""Fields of single layers, ``per_layer_config`` of configurations that transformers 5.20 and later write.

It has the fields of each layer that differ from those of the model.  Tables know them by type of layer: ``per_layer``
names the field for a type of layer that stands for a field of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.diagnostics import written

#: The field that these are read from.
SOURCE = "per_layer_config"


def layer_fields(
    config: Mapping[str, Any], per_layer: Mapping[str, Mapping[str, str]], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of types of layers that a configuration gives layer by layer.

    Args:
        config: the configuration, with ``per_layer_config``.
        per_layer: by type of layer and field of the model the field for layers of this type.
        fields: the fields of the model as the table declares them.

    Raises:
        ValueError: with the reason, if they are malformed, or differ among layers of a type.
    """
    stated, types = config[SOURCE], config.get("layer_types")
    if not isinstance(stated, dict) or not all(isinstance(layer, dict) for layer in stated.values()):
        raise ValueError("should be an object of an object for each layer")
    if not isinstance(types, list):
        raise ValueError("takes the layer_types of all layers")
    layers: dict[int, Mapping[str, Any]] = {}
    for number, layer in stated.items():
        if not number.isdecimal() or int(number) >= len(types):
            raise ValueError(f"there is no layer {written(number, quoted=True)} of {len(types)}")
        layers[int(number)] = layer
    for number, layer in layers.items():
        for name in layer:
            if name not in per_layer.get(types[number], {}):
                raise ValueError(
                    f"{name} of layer {number}, of type {written(types[number], quoted=True)}, is not known"
                )
    given: dict[str, Any] = {}
    for kind, names in per_layer.items():
        numbers = [number for number, layer_type in enumerate(types) if layer_type == kind]
        for name, field in names.items():
            declared = fields[name]
            default = declared["default"] if isinstance(declared, dict) else declared
            values = [layers.get(number, {}).get(name, config.get(name, default)) for number in numbers]
            if values and any(value != values[0] for value in values):
                raise ValueError(f"{name} of layers of type {kind!r} differs among them, which is not known")
            if values:
                given[field] = values[0]
    return given
