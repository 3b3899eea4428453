"""The choice between parameters and computed weights, which all layers share."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value, given


def learned(build: Builder, value: Value, dtype: str) -> bool:
    """Return True if a value can be a learned parameter of an operation that computes in this type.

    A buffer cannot: as a weight of a layer it would count as a parameter.
    """
    stored = value.stored
    return stored is not None and value.type.dtype == dtype and not build.graph.tensors[stored.path].buffer


def weighted(
    build: Builder, operation: str, input: Value, weight: Value, bias: Value | None, attributes: dict[str, Any]
) -> Value:
    """Add an operation with a weight and a bias, each of which is a learned parameter or computed."""
    dtype = input.type.dtype
    inputs: list[Value | None] = [input]
    parameters = {}
    for name, value in (("weight", weight), ("bias", bias)):
        is_input = value is not None and not learned(build, value, dtype)
        inputs.append(value if is_input else None)
        if not is_input:
            parameters[name] = value
    if bias is None:
        attributes = {**attributes, "bias": False}
    return build.line(operation, given(inputs), attributes, parameters)
