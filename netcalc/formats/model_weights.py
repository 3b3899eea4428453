"""Safetensors files of a model, in its folder or its repository."""

from __future__ import annotations

from netcalc.formats.hub.remote_tensors import open_remote
from netcalc.formats.sources import Source
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.tensor_files import Tensors

__all__ = ["model_weights"]


def model_weights(source: Source, folder: str = "") -> Tensors | None:
    """Return the weights beside the file of a model, or in a folder there; None if there are none.

    Raises:
        NetcalcError: E605 if a file is damaged, E008 if the Hub cannot be read.
    """
    if source.repository is not None:
        return open_remote(source.repository, f"{folder}/model" if folder else "model")
    path = source.path.parent / folder
    return open_weights(path) if any(path.glob("*.safetensors*")) else None
