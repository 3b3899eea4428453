"""The var ``logits`` of causal language models that libraries build, as the shipped ones have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.dims import equal
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from netcalc.tensor_type import TensorType

#: Ends of the names of classes of transformers that compute the next token.
GENERATING = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")

_VAR = {"default": "all", "choices": ["all", "last"], "about": "positions whose logits are computed"}
_LAST = {"when": "logits == 'last'", "slice": {"axis": 1, "start": -1}}


def with_last_logits(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document that lets one compute the logits (N, L, C) of the last position alone.

    It is the same if its last linear line is not what computes them from each position.
    """
    layers = document.get("layers", [])
    number = next((i for i in reversed(range(len(layers))) if "linear" in layers[i]), None)
    if number is None or "logits" not in document.get("outputs", {}) or "vars" in document:
        return document
    head = dict(layers[number])
    last = {**({"from": head.pop("from")} if "from" in head else {}), **_LAST}
    lines = [*layers[:number], last, head, *layers[number + 1 :]]
    chosen: dict[str, Any] = {}
    for key, value in document.items():
        chosen |= {"vars": {"logits": _VAR}, key: value} if key == "inputs" else {key: value}
    chosen["layers"] = lines
    every, ending = _logits(document, {}), _logits(chosen, {"logits": "last"})
    if every is None or ending is None or len(every.shape) != 3:
        return document
    (batch, _, classes), shape = every.shape, ending.shape
    is_last = len(shape) == 3 and equal(shape[0], batch) and equal(shape[1], 1) and equal(shape[2], classes)
    return chosen if is_last and _logits(chosen, {}) == every else document


def _logits(document: Mapping[str, Any], settings: Mapping[str, Any]) -> TensorType | None:
    """Return the type of the logits of a document; None if it has none at these settings."""
    try:
        program = elaborate(load_data(document), settings)
    except NetcalcError:
        return None
    return program.output_types.get("logits")
