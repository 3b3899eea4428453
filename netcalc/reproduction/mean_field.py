"""Mean-field theory of one activation function as values of published figures.

``activation`` is an operation, ``weight_variance`` σ_w² and ``bias_variance`` σ_b² those of
:mod:`netcalc.analysis.signal.mean_field`.  Without ``weight_variance`` the layer is at the edge of chaos of σ_b².
"""

from __future__ import annotations

import math
from typing import Any

from netcalc.analysis.signal.curves import CURVES, curve_of
from netcalc.analysis.signal.mean_field import MeanField, activation_moments, edge_of_chaos
from netcalc.ops import OPERATIONS

#: Fields of an activation function alone, and of one with variances.
FIELDS = ("mean", "square", "gain", "slope_at_0", "fixed_point", "chi", "weight_variance")


def mean_field(
    activation: str, bias_variance: float | None = None, weight_variance: float | None = None
) -> dict[str, float]:
    """Return the fields of an activation function; of a layer only with a variance of biases.

    ``mean`` and ``square`` are E[f(z)] and E[f(z)²] of a normal z, ``gain`` the reciprocal deviation of f(z),
    ``fixed_point`` q*, ``chi`` χ there.

    Raises:
        ValueError: there is no such activation function, or no edge of chaos.
    """
    kind: Any = OPERATIONS.get(activation)
    curve = curve_of(kind()) if activation in CURVES and kind is not None else None
    if curve is None:
        raise ValueError(f"{activation!r} is no activation function with a known curve")
    moments = activation_moments(curve)
    fields = {"mean": moments.mean, "square": moments.square, "slope_at_0": curve.slope(0.0)}
    fields["gain"] = 1 / math.sqrt(moments.square - moments.mean**2)
    if bias_variance is None:
        return fields
    if weight_variance is None:
        edge = edge_of_chaos(curve, bias_variance)
        return fields | {"weight_variance": edge.weight_variance, "fixed_point": edge.fixed_point, "chi": 1.0}
    layer = MeanField(curve, weight_variance, bias_variance)
    q = layer.fixed_point()
    return fields | {"weight_variance": weight_variance, "fixed_point": q, "chi": layer.chi(q)}
