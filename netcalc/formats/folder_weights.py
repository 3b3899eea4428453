"""Safetensors files of a model, in its folder or its repository."""

from __future__ import annotations

import os
from pathlib import Path

from netcalc.diagnostics import NetcalcError
from netcalc.formats.hub.remote_tensors import open_remote
from netcalc.formats.sources import Source
from netcalc.spec.spec_files import unreadable
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.packing.quantization import quantization_beside
from netcalc.weights.packing.unpacked import unpacked
from netcalc.weights.tensor_files import Tensors

_FILES = (".safetensors", ".safetensors.index.json")


def own_weights(source: Source) -> Path | Tensors | None:
    """Return the folder of a model, or the tensors in its repository; None if there are none.

    Raises:
        NetcalcError: E004 if the folder cannot be listed; E605 if a file is damaged; E008 if the Hub cannot be read.
    """
    if source.repository is not None:
        tensors = open_remote(source.repository)
        return None if tensors is None else unpacked_weights(tensors, source)
    folder = source.path.parent
    try:
        with os.scandir(folder) as entries:
            return folder if any(entry.name.endswith(_FILES) for entry in entries) else None
    except OSError as error:
        raise NetcalcError(unreadable(folder, error)) from None


def unpacked_weights(tensors: Tensors, source: Source) -> Tensors:
    """Return the tensors that a quantized checkpoint stands for, by the configuration of its model."""
    return unpacked(tensors, quantization_beside(source.path))


def model_weights(source: Source, folder: str = "") -> Tensors | None:
    """Return the weights beside the file of a model, or in a folder there; None if there are none.

    Raises:
        NetcalcError: E605 if a file is damaged, E008 if the Hub cannot be read.
    """
    if source.repository is not None:
        return open_remote(source.repository, f"{folder}/model" if folder else "model")
    path = source.path.parent / folder
    return open_weights(path) if any(path.glob("*.safetensors*")) else None
