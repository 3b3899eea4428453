"""Weights of models in GGUF, as their reference implementations have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.formats.gguf.document import model_name, opened
from netcalc.formats.gguf.tables import GgufTable
from netcalc.formats.sources import Source
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import load_cursor
from netcalc.spec.settings import resolve_settings
from netcalc.weights.gguf.changes import Change
from netcalc.weights.gguf.tensors import GgufWeights


def own_weights(source: Source) -> GgufWeights:
    """Return the weights of a model.

    Raises:
        NetcalcError: E007 if the model is not known; E605 if the file cannot be read.
    """
    file, translation = opened(source.path)
    loaded = load_cursor(translation.translated(model_name(source.path)), source.label)
    scope = {**translation.values, **resolve_settings(loaded, {}, ())}
    return GgufWeights(file, _changes(translation.table, scope))


def _changes(table: GgufTable, scope: Mapping[str, Any]) -> list[Change]:
    """Return what the conversion to GGUF changed in tensors."""
    changes = []
    for index, entry in enumerate(table.part("changes")):
        place = table.cursor["changes"][index]
        for kind, numbers in evaluate(place["undo"], scope).items():
            changes.append(Change(entry["tensors"], kind, tuple(numbers)))
    return changes
