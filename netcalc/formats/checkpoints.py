"""Checkpoints that are given in place of a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from netcalc.diagnostics import NetcalcError
from netcalc.files import exists
from netcalc.formats.hub import PREFIX
from netcalc.formats.sources import find_source, named_folder
from netcalc.formats.table import FOLDER_FILES
from netcalc.spec.spec_files import unreadable

if TYPE_CHECKING:
    from netcalc.weights.tensor_files import Tensors

_TENSORS = (".safetensors", ".npz")
_FILES = (*_TENSORS, ".npy", ".pt", ".pth", ".bin", ".ckpt", ".pkl", ".index.json")


def is_checkpoint(model: str) -> bool:
    """Return True for a file of tensors, an index of shards, and a folder that has such files and no configuration.

    Raises:
        NetcalcError: E004 if a folder cannot be listed.
    """
    if model.startswith(PREFIX):
        return False
    path = Path(model)
    if path.name.lower().endswith(_FILES):
        return True
    if named_folder(model) is None or any(exists(path / name) for name in FOLDER_FILES):
        return False
    try:
        with os.scandir(path) as entries:
            return any(entry.name.endswith((*_TENSORS, ".safetensors.index.json")) for entry in entries)
    except OSError as error:
        raise NetcalcError(unreadable(path, error)) from None


def opened_checkpoint(model: str | Path) -> tuple[Path] | tuple[Path, Tensors]:
    """Return the path of a checkpoint; of a model on the Hub its configuration, and its weights as they are stored.

    Raises:
        NetcalcError: E008 if the Hub cannot be read, or has no weights of the model.
    """
    return _on_the_hub(str(model)) if str(model).startswith(PREFIX) else (Path(model),)


def _on_the_hub(model: str) -> tuple[Path, Tensors]:
    from netcalc.formats.hub.remote_tensors import open_remote

    source = find_source(model)
    assert source is not None and source.repository is not None
    tensors = open_remote(source.repository)
    if tensors is None:
        raise source.repository.lacks("model.safetensors")
    return source.path, tensors
