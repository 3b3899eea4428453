"""Weights of models of sentence-transformers: weights of the transformer, and of each module in its folder."""

from __future__ import annotations

from netcalc.formats.folder_weights import model_weights
from netcalc.formats.sentence_transformers.modules import dense_folders
from netcalc.formats.sources import Source
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.weights.checkpoint_files import Joined
from netcalc.weights.prefixed import Prefixed
from netcalc.weights.tensor_files import Tensors


def own_weights(source: Source) -> Tensors | None:
    """Return the weights of all modules; None if the transformer has none in safetensors files.

    Raises:
        NetcalcError: E605 if a module lacks its weights, or if files are damaged; E008 if the Hub cannot be read.
    """
    transformer, others = dense_folders(source, MAX_SPEC_SIZE)
    first = model_weights(source, transformer)
    if first is None or not others:
        return first
    parts = [(folder, model_weights(source, folder)) for folder in others]
    return Joined([first, *(Prefixed(part, f"{folder}.") for folder, part in parts if part is not None)], first.name)
