"""The vectors of a norm, which are learned parameters of its line, buffers of it, or tensors of any other kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value, given


def normed(
    build: Builder,
    operation: str,
    x: Value,
    affine: tuple[Value | None, Value | None],
    attributes: Mapping[str, Any],
    *,
    is_affine: bool = True,
    buffers: Mapping[str, Value] | None = None,
    statistics: tuple[Value, ...] = (),
) -> Value:
    """Add a norm, which takes what it does not learn as inputs.

    Args:
        operation: its name.
        x: the input.
        affine: weight and bias.
        attributes: its other attributes.
        is_affine: the default of its attribute ``affine``.
        buffers: running statistics that it holds.
        statistics: running statistics that are inputs.
    """
    weight, bias = affine
    parameters = dict(buffers or {})
    inputs: list[Value | None] = [x]
    for name, value in (("weight", weight), ("bias", bias)):
        # a bias without a weight is always an input
        is_input = value is not None and not (weight is not None and learned(build, value, x.type.dtype))
        inputs.append(value if is_input else None)
        if value is not None and not is_input:
            parameters[name] = value
    learns = weight is not None and (is_affine or not {"weight", "bias"}.isdisjoint(parameters))
    settings = {
        "affine": None if learns == is_affine else learns,
        "bias": False if learns and bias is None and operation != "rms_norm" else None,
    }
    return build.line(operation, given([*inputs, *statistics]), {**attributes, **settings}, parameters)
