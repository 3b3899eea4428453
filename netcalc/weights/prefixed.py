"""Tensors of another source under names with a prefix."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.weights.pieces import Part, write_part
from netcalc.weights.tensor_files import Tensors


class Prefixed:
    """Tensors whose names begin with a prefix that they lack in their source."""

    def __init__(self, tensors: Tensors, prefix: str) -> None:
        self.name = tensors.name
        self.tensors = tensors
        self.headers = {prefix + name: header for name, header in tensors.headers.items()}
        self._prefix = prefix

    def load(self, name: str) -> Array:
        """Return the data of one tensor."""
        return self.tensors.load(name.removeprefix(self._prefix))

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place."""
        write_part(self.tensors, name.removeprefix(self._prefix), part)
