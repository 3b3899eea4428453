"""The line of a loss, which all losses of netcalc share."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value, given

#: The reductions by their numbers in ATen; None is the default of netcalc's losses, the mean.
_REDUCTIONS = ("none", None, "sum")


def loss_line(
    operation: str,
    build: Builder,
    input: Value,
    target: Value,
    reduction: int,
    weight: Value | None = None,
    pos_weight: Value | None = None,
    **settings: Any,
) -> Value:
    """Add a loss, with weights that may be absent and attributes that are None for their defaults."""
    attributes = {"reduction": _REDUCTIONS[reduction], **settings}
    return build.line(operation, given([input, target, weight, pos_weight]), attributes)
