"""Results with tensors, which are written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from netcalc.arrays import Array
from netcalc.results import Result
from netcalc.weights.writing import write_tensors


class TensorResult(Result):
    """Base of the results that have tensors."""

    __slots__ = ()

    @property
    def tensors(self) -> Mapping[str, Array]:
        """All tensors by name, as :meth:`save` writes them."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write all tensors to a ``.safetensors`` or ``.npz`` file, replacing it as a whole.

        Raises:
            NetcalcError: E605 if the file cannot be written.
        """
        write_tensors(path, self.tensors)
