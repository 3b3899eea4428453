"""The affine map of a norm, whose weights are learned parameters of the norm or tensors of any other kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators._weights import learned


class Affine(NamedTuple):
    """The affine map of a norm: what its line learns, and the factor and the summand of the lines after it."""

    parameters: dict[str, Value]
    factor: Value | None = None
    summand: Value | None = None

    def attributes(self, *, default: bool = True) -> dict[str, Any]:
        """Return the attributes ``affine`` and ``bias`` where they differ from their defaults."""
        affine = "weight" in self.parameters
        return {
            "affine": None if affine == default else affine,
            "bias": False if affine and "bias" not in self.parameters else None,
        }

    def applied(self, build: Builder, x: Value, *, channels: bool) -> Value:
        """Add the lines that scale and shift ``x``, along its last axes or its channels (axis 1)."""
        result = x
        for operation, value in (("mul", self.factor), ("add", self.summand)):
            if value is not None:
                result = build.line(operation, [result, along_channels(build, value, x) if channels else value])
        if result.type.dtype != x.type.dtype:
            result = build.line("cast", [result], {"dtype": x.type.dtype})
        return result


def affine_of(build: Builder, x: Value, weight: Value | None, bias: Value | None) -> Affine:
    """Return the affine map of a norm, with weight and bias as parameters of its line where they can be."""
    dtype = x.type.dtype
    if weight is None or not learned(build, weight, dtype):
        return Affine({}, weight, bias)
    if bias is None or not learned(build, bias, dtype):
        return Affine({"weight": weight}, None, bias)
    return Affine({"weight": weight, "bias": bias})


def along_channels(build: Builder, vector: Value, x: Value) -> Value:
    """Return a vector with an element for each channel in a shape that broadcasts to ``x`` along axis 1."""
    after = len(x.type.shape) - 2
    return build.line("reshape", [vector], {"shape": [-1, *[1] * after]}) if after > 0 else vector
