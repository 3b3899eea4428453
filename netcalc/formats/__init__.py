"""Models in foreign formats, read as spec documents: of Hugging Face, in GGUF, and modules of PyTorch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists
from netcalc.formats.hub import PREFIX as HUB_PREFIX
from netcalc.formats.sources import ADAPTER, MODULES, Source, find_source
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import Loaded, load_cursor, load_document
from netcalc.spec.spec_files import looks_like_spec, read_spec, unreadable

if TYPE_CHECKING:
    from netcalc.weights.checkpoint_files import Weights
    from netcalc.weights.tensor_files import Tensors

__all__ = [
    "HUB_PREFIX",
    "import_model",
    "is_gguf",
    "is_torch",
    "load_model",
    "opened_weights",
    "own_weights",
    "pending_downloads",
]

_INDEX = ".safetensors.index.json"


def load_model(model: str | Path, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load a spec, or a model in a foreign format, which becomes a spec that extends a shipped one.

    Args:
        model: a spec (a path, a name or ``-``); the configuration of a Hugging Face model, or its folder; a ``.gguf``
            file; or the name of a model on the Hub, ``hf:org/name[@revision]``.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: with every error found; E007 if the model cannot be imported, E008 if the Hub cannot be read.
    """
    if is_torch(model):
        hint = f"write its spec first, by `netcalc import {model} -o net.yaml`; in Python use netcalc.from_torch"
        raise NetcalcError(Diagnostic("E502", f"{model} is a module of PyTorch, which only `import` takes", hint=hint))
    if is_gguf(model):
        from netcalc.formats.gguf import load_gguf

        return load_gguf(Path(model), max_size)
    source = find_source(str(model), max_size)
    if source is None or _is_spec(source, max_size):
        return load_document(model, max_size)
    document, _ = _read(source, max_size)
    return load_cursor(document, source.label, max_size=max_size)


def import_model(model: str | Path, settings: Mapping[str, Any], max_size: int = MAX_SPEC_SIZE) -> str:
    """Return the text of the spec that is equivalent to a model in a foreign format.

    Args:
        model: as for :func:`load_model`, but no spec; also a ``.pt2`` file, or ``torch:package.module:factory`` of a
            module whose ``forward`` takes no arguments.
        settings: values of fields of the configuration, dims and vars by name, in place of its own.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: as :func:`load_model`; E502 for a spec.
    """
    from netcalc.formats.spec_text import spec_text

    if is_torch(model):
        from netcalc.formats.torch.sources import import_torch

        return spec_text(import_torch(model, (), settings).document)
    if is_gguf(model):
        from netcalc.formats.gguf import import_gguf

        return spec_text(import_gguf(Path(model), settings, max_size))
    source = find_source(str(model), max_size)
    if source is None or _is_spec(source, max_size):
        hint = "import takes the config.json of a Hugging Face model, its folder, a .gguf file, or hf:org/name"
        raise NetcalcError(Diagnostic("E502", f"{model} is no model in a foreign format", hint=hint))
    from netcalc.formats.documents import imported

    document, fields = _read(source, max_size)
    loaded = load_cursor(document, source.label, max_size=max_size)
    return spec_text(imported(document, loaded, fields, settings))


def is_gguf(model: str | Path) -> bool:
    """Return True for the name of a file in GGUF."""
    return str(model).lower().endswith(".gguf") and not str(model).startswith(HUB_PREFIX)


def is_torch(model: str | Path) -> bool:
    """Return True for ``torch:package.module:factory``, and for the name of a file with an exported program."""
    return str(model).startswith("torch:") or str(model).lower().endswith(".pt2")


def opened_weights(weights: Weights | None) -> Weights | None:
    """Return weights, with tensors in place of the path of a ``.gguf`` file, and of the name of a model on the Hub.

    Raises:
        NetcalcError: E605 if the file cannot be read; E007 if its model is not known; E008 if the Hub cannot be read.
    """
    if isinstance(weights, (str, Path)):
        return _opened(weights)
    if isinstance(weights, (list, tuple)):
        return [_opened(given) if isinstance(given, (str, Path)) else given for given in weights]
    return weights


def _opened(given: str | Path) -> str | Path | Tensors:
    named = is_gguf(given) or str(given).startswith(HUB_PREFIX)
    named = named or any(exists(Path(given) / filename) for filename in (MODULES, ADAPTER))  # weights of several files
    return (own_weights(given) or given) if named else given


def own_weights(model: str | Path) -> Path | Tensors | None:
    """Return a model's own weights: its folder of safetensors files, those on the Hub, or those of a ``.gguf`` file.

    Returns None if there are none.

    Raises:
        NetcalcError: E004 if the folder cannot be listed; E008 for a model on the Hub that has none, and if it cannot
            be read; E605 for damaged files.
    """
    if is_gguf(model):
        from netcalc.formats.gguf import gguf_weights

        return gguf_weights(Path(model))
    source = find_source(str(model))
    return None if source is None or not source.is_of_folder else _weights_of(source)


def pending_downloads(weights: Weights | None) -> dict[str, int]:
    """Return the bytes of opened weights on the Hub that a run downloads to its cache, by their names."""
    from netcalc.formats.hub.remote_tensors import pending_bytes
    from netcalc.weights.tensor_files import Tensors

    parts = weights if isinstance(weights, (list, tuple)) else [weights]
    found = {part.name: pending_bytes(part) for part in parts if isinstance(part, Tensors)}
    return {name: pending for name, pending in found.items() if pending}


def _weights_of(source: Source) -> Path | Tensors | None:
    """Return the weights in the folder or repository of a model."""
    if source.path.name == ADAPTER:
        from netcalc.formats.peft.weights import adapter_weights

        found = adapter_weights(source)
    elif source.path.name == MODULES:
        from netcalc.formats.sentence_transformers.weights import sentence_weights

        found = sentence_weights(source)
    elif source.repository is not None:
        from netcalc.formats.hub.remote_tensors import open_remote

        found = _unpacked(open_remote(source.repository), source.path)
    else:
        return _folder_with_weights(source.path.parent)
    if found is None and source.repository is not None:
        hint = f"`netcalc import {source.repository.name}` writes its spec, which takes weights by --weights"
        message = f"{source.repository.name} has no weights in safetensors files"
        raise NetcalcError(Diagnostic("E008", message, hint=hint))
    return found


def _unpacked(found: Tensors | None, config: Path) -> Tensors | None:
    """Return the tensors that those of a quantised checkpoint stand for, by its configuration."""
    if found is None:
        return None
    from netcalc.weights.packing.quantization import config_beside, quantization_of
    from netcalc.weights.packing.unpacked import unpacked

    beside = config_beside(config)
    return unpacked(found, quantization_of(*beside) if beside else None)


def _folder_with_weights(folder: Path) -> Path | None:
    try:
        with os.scandir(folder) as entries:
            return folder if any(e.name.endswith((".safetensors", _INDEX)) for e in entries) else None
    except OSError as error:
        raise NetcalcError(unreadable(folder, error)) from None


def _read(source: Source, max_size: int) -> tuple[Cursor, set[str]]:
    """Return the spec document of a model, and the names of the fields of its configuration among the vars."""
    if source.path.name == MODULES:
        from netcalc.formats.sentence_transformers import sentence_document

        return sentence_document(source, max_size)
    from netcalc.formats.huggingface import config_document
    from netcalc.formats.json_document import parse_json
    from netcalc.formats.timm import is_timm, timm_document

    config = parse_json(read_spec(source.path, source.label, max_size), source.label)
    if isinstance(config.data, dict) and "peft_type" in config.data:
        from netcalc.formats.peft import adapter_document, base_of

        base, fields = _read(base_of(config, source), max_size)
        return adapter_document(config, source, base), fields
    return timm_document(config, source.name) if is_timm(config.data) else config_document(config, source)


def _is_spec(source: Source, max_size: int) -> bool:
    """Return True for a spec in JSON."""
    return not source.is_of_folder and looks_like_spec(read_spec(source.path, source.label, max_size))
