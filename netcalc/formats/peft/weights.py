"""Weights of adapters of PEFT, beside those of their base model."""

from __future__ import annotations

from pathlib import Path

from netcalc.formats.hub.remote_tensors import open_remote
from netcalc.formats.sources import Source
from netcalc.numerics.checkpoint_files import Joined, open_weights
from netcalc.numerics.kernels import Array
from netcalc.numerics.tensor_files import Tensors

__all__ = ["adapter_weights"]

_STEM = "adapter_model"
#: Prefix of the names of all tensors of an adapter: that of PEFT's own modules.
_PREFIX = "base_model.model."


def adapter_weights(source: Source, base: Path | Tensors | None) -> Tensors | None:
    """Return the tensors of an adapter with those of the base model, if it has weights; None without an adapter's.

    Raises:
        NetcalcError: E605 if a file is damaged, E008 if the Hub cannot be read.
    """
    if source.repository is not None:
        found = open_remote(source.repository, _STEM)
    else:
        path = source.path.parent / f"{_STEM}.safetensors"
        found = open_weights(path) if path.is_file() else None
    if found is None:
        return None
    own = _Adapter(found)
    return own if base is None else Joined([open_weights(base) if isinstance(base, Path) else base, own], own.name)


class _Adapter:
    """Tensors of an adapter, by the names that they have below the base model."""

    def __init__(self, tensors: Tensors) -> None:
        self.name = tensors.name
        self._tensors = tensors
        self._stored = {name.removeprefix(_PREFIX): name for name in tensors.headers}
        self.headers = {name: tensors.headers[stored] for name, stored in self._stored.items()}

    def load(self, name: str) -> Array:
        """Return the data of one tensor."""
        return self._tensors.load(self._stored[name])
