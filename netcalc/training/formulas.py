"""Formulas that updates of several optimizers share."""

from __future__ import annotations

from typing import TypeAlias

from netcalc.arrays import Array

#: Tensors that an optimizer keeps for one parameter, by name.
States: TypeAlias = dict[str, Array]


def lerp(start: Array, end: Array, weight: float) -> Array:
    """Return torch.lerp of two tensors, which begins at the nearer end."""
    difference = end - start
    mixed: Array = start + difference * weight if weight < 0.5 else end - difference * (1 - weight)
    return mixed
