"""Changes that the conversion of a model to GGUF makes in its tensors.

The conversions follow llama.cpp (convert_hf_to_gguf.py).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from math import prod
from typing import NamedTuple


class Change(NamedTuple):
    """A change of the tensors whose names match a pattern: its kind, and the numbers that it depends on."""

    pattern: str
    kind: str
    numbers: tuple[float, ...] = ()

    def applies(self, name: str) -> bool:
        """Return True for a tensor that is changed."""
        return fnmatchcase(name, self.pattern)


def changed_shape(shape: tuple[int, ...], change: Change) -> tuple[int, ...]:
    """Return the shape of a tensor before it was changed."""
    if change.kind == "flat":
        return (prod(shape),)
    if change.kind != "unit_axis":
        return shape
    axis, rank = map(int, change.numbers)
    return (*shape[:axis], 1, *shape[axis:]) if len(shape) < rank else shape
