"""Safetensors files of a model, in its folder or its repository.

What reads them is imported when they are there, so that a configuration alone is counted without it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from netcalc.diagnostics import NetcalcError
from netcalc.formats.sources import Source
from netcalc.spec.spec_files import unreadable
from netcalc.weights.suffixes import PICKLES

if TYPE_CHECKING:
    from netcalc.weights.tensor_files import Tensors

_FILES = (".safetensors", ".safetensors.index.json")
#: Files with weights that are refused when the folder is opened, with how to convert them.
_REFUSED = (*PICKLES, ".bin.index.json")
#: Pickles beside weights that hold none.
_WITHOUT_WEIGHTS = frozenset(
    {"training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.bin", "scheduler.pt", "scaler.pt"}
)


def own_weights(source: Source) -> Path | Tensors | None:
    """Return the folder of a model, or the tensors in its repository; None if there are none.

    A folder that has its weights in pickles only is returned too, and refused when it is opened.

    Raises:
        NetcalcError: E004 if the folder cannot be listed; E605 if a file is damaged; E008 if the Hub cannot be read.
    """
    if source.repository is not None:
        from netcalc.formats.hub.remote_tensors import open_remote

        tensors = open_remote(source.repository)
        return None if tensors is None else unpacked_weights(tensors, source)
    folder = source.path.parent
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in entries} - _WITHOUT_WEIGHTS
    except OSError as error:
        raise NetcalcError(unreadable(folder, error)) from None
    has_weights = any(name.endswith((*_FILES, *_REFUSED)) and not name.startswith("rng_state") for name in names)
    return folder if has_weights else None


def unpacked_weights(tensors: Tensors, source: Source) -> Tensors:
    """Return the tensors that a quantized checkpoint stands for, by the configuration of its model."""
    from netcalc.weights.packing.quantization import quantization_beside
    from netcalc.weights.packing.unpacked import unpacked

    return unpacked(tensors, quantization_beside(source.path))


def model_weights(source: Source, folder: str = "") -> Tensors | None:
    """Return the weights beside the file of a model, or in a folder there; None if there are none.

    Raises:
        NetcalcError: E605 if a file is damaged, E008 if the Hub cannot be read.
    """
    if source.repository is not None:
        from netcalc.formats.hub.remote_tensors import open_remote

        return open_remote(source.repository, f"{folder}/model" if folder else "model")
    from netcalc.weights.checkpoint_files import open_weights

    path = source.path.parent / folder
    return open_weights(path) if any(path.glob("*.safetensors*")) else None
