"""Weights of adapters of PEFT, beside the weights of their base model."""

from __future__ import annotations

from netcalc.arrays import Array
from netcalc.formats.folder_weights import model_weights, unpacked_weights
from netcalc.formats.hub.remote_tensors import open_remote
from netcalc.formats.peft.document import base_of
from netcalc.formats.sources import Source
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.weights.checkpoint_files import Joined, open_weights
from netcalc.weights.pieces import Part, write_part
from netcalc.weights.tensor_files import Tensors

_STEM = "adapter_model"
#: Prefix of the names of all tensors of an adapter, which PEFT's own modules have.
_PREFIX = "base_model.model."


def own_weights(source: Source) -> Tensors | None:
    """Return the tensors of an adapter and of its base model, if it has weights; None if the adapter has none.

    Raises:
        NetcalcError: E007 if the base model or its quantization is not known, E605 if a file is damaged, E008 if the
            Hub cannot be read.
    """
    own = _adapter_tensors(source)
    if own is None:
        return None
    base = base_of(source.parsed(MAX_SPEC_SIZE), source)
    base_weights = model_weights(base)
    files = base_weights.files if isinstance(base_weights, Joined) else [] if base_weights is None else [base_weights]
    return unpacked_weights(Joined([*files, _Adapter(own)], own.name), base)  # quantized for QLoRA


def _adapter_tensors(source: Source) -> Tensors | None:
    if source.repository is not None:
        return open_remote(source.repository, _STEM)
    path = source.path.parent / f"{_STEM}.safetensors"
    return open_weights(path) if path.is_file() else None


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

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place."""
        write_part(self._tensors, self._stored[name], part)
