"""The recorded models of torchvision, timm, transformers and ``torch.nn``, built with torch.

Models of transformers have configurations of ``tests/formats/huggingface``, the others the calls of ``models.json``.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.formats.huggingface.harness import config_of

__all__ = ["Record", "build", "export", "inputs", "quiet", "records"]

RECORDS = Path(__file__).parent / "models.json"

#: Numbers of layers in configurations; two are kept, which has every kind of layer in it.
COUNTS = {
    *("num_hidden_layers", "num_layers", "num_decoder_layers", "n_layer", "n_layers"),
    *("encoder_layers", "decoder_layers", "num_encoder_layers", "layers"),
}
#: Names of layers, which follow from their number.
NAMES = {"out_features", "out_indices", "stage_names"}
#: Lists with an entry for each layer.
LISTS = {"attention_window", "layer_types", "mlp_layer_types"}


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded model with one size of its inputs.

    Attributes:
        id: library, name, and the size of the inputs if there are several.
        call: Python expression that builds it; empty for models of timm and transformers.
        attention: implementation of attention, for transformers.
        inputs: shapes as ``dtype:sizes``, or values, by name; ``arg0`` and so on are positional.
        params, flops: the recorded figures; no FLOPs where torch cannot run the model without compiled operators.
        device: on which it was built.
    """

    id: str
    inputs: dict[str, Any]
    params: int
    flops: int | None
    call: str = ""
    attention: str = "sdpa"
    device: str = "meta"

    @property
    def model(self) -> str:
        """Return the id without the size."""
        return self.id.partition("@")[0]

    @property
    def library(self) -> str:
        """Return the library that the model is from, as the id names it."""
        return self.id.partition("/")[0]


@cache
def records() -> dict[str, Record]:
    """Return the records by id."""
    found = json.loads(RECORDS.read_text(encoding="utf-8"))["models"]
    return {entry["id"]: Record(**entry) for entry in found}


def build(record: Record, *, layers: int | None = None, device: str | None = None) -> Any:
    """Return the module of a record in eval mode.

    Args:
        record: which one.
        layers: number of layers that are kept of a model of transformers; all if None.
        device: where to build it; that of the record if None.
    """
    import_module("tests.oracle.conftest")
    torch = import_module("torch")
    torch.manual_seed(0)
    with torch.device(device or record.device):
        return _module(record, layers).eval()


def _module(record: Record, layers: int | None) -> Any:
    if record.library == "hf":
        return _transformers(record, layers)
    if record.library == "timm":
        name = record.model.removeprefix("timm/")
        return import_module("timm").create_model(name, pretrained=False)
    custom = import_module("tests.formats.torch.custom")
    known = {"nn": import_module("torch").nn, "TransformerMT": custom.TransformerMT, "LSTMLM": custom.LSTMLM}
    return eval(record.call, known | {"torchvision": import_module("torchvision")})


def _transformers(record: Record, layers: int | None) -> Any:
    transformers = import_module("transformers")
    fields = config_of(record.model)
    architecture = getattr(transformers, fields["architectures"][0])
    config = architecture.config_class.from_dict(fields if layers is None else _shrunk(fields, layers))
    config._attn_implementation = record.attention
    config._experts_implementation = "batched_mm"
    module = architecture(config)
    head = getattr(module, "lm_head", None)
    if fields.get("tie_word_embeddings") is False and head is not None and _tied(module, head.weight):
        # transformers 5 ties models of T5 that are built from a configuration, whatever it says
        head.weight = import_module("torch").nn.Parameter(head.weight.detach().clone())
    return module


def _tied(module: Any, weight: Any) -> bool:
    return sum(found is weight for _, found in module.named_parameters(remove_duplicate=False)) > 1


def _shrunk(value: Any, layers: int) -> Any:
    """Return a configuration with few layers, those of nested configurations too."""
    if not isinstance(value, dict):
        return value
    shrunk: dict[str, Any] = {}
    for name, field in value.items():
        if name in COUNTS and isinstance(field, int):
            shrunk[name] = min(field, layers)
        elif name in LISTS and isinstance(field, list):
            shrunk[name] = [*field[: layers - 1], field[-1] if name == "attention_window" else "full_attention"]
        elif name == "depths":
            shrunk[name] = [min(depth, layers) for depth in field]
        elif name in ("num_sparse_encoder_layers", "num_sparse_decoder_layers"):
            shrunk[name] = 1
        elif name not in NAMES or "depths" in value:
            shrunk[name] = _shrunk(field, layers)
    return shrunk


def inputs(record: Record, device: str | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and named example inputs: zeros for integers, ones for masks, and random reals."""
    torch = import_module("torch")
    found: dict[str, Any] = {}
    for name, given in record.inputs.items():
        if not isinstance(given, str):
            found[name] = given
            continue
        dtype, _, sizes = given.partition(":")
        shape = [int(size) for size in sizes.split(",")]
        make = torch.randn if dtype == "float32" else torch.ones if name.endswith("mask") else torch.zeros
        found[name] = make(shape, dtype=getattr(torch, dtype), device=device or record.device)
    named = {name: value for name, value in found.items() if not name.startswith("arg")}
    return tuple(value for name, value in found.items() if name not in named), named


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what torch prints about exports, and the search of transformers for padding, which needs values."""
    utilities = sys.modules.get("transformers.modeling_utils")
    logging.disable(logging.WARNING)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings(action="ignore"))
        stack.enter_context(redirect_stdout(StringIO()))
        stack.enter_context(redirect_stderr(StringIO()))
        if utilities is not None:
            stack.enter_context(patch.object(utilities.PreTrainedModel, "warn_if_padding_and_no_attention_mask"))
        yield
    logging.disable(logging.NOTSET)


def export(module: Any, record: Record, device: str | None = None) -> Any:
    """Return the exported program of a module, before any decomposition."""
    args, named = inputs(record, device)
    with quiet():
        return import_module("torch").export.export(module, args, named, strict=False)
