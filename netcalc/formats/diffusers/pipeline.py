"""Pipelines of diffusers: folders or repositories whose ``model_index.json`` names their parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.sources import Source, find_source
from netcalc.formats.table import CONFIG

INDEX = "model_index.json"
#: Files of parts that have no network: schedulers, tokenizers, and what prepares inputs.
_WITHOUT_NETWORK = (
    "scheduler_config.json",
    "tokenizer_config.json",
    "preprocessor_config.json",
    "processor_config.json",
)


class PipelineError(NetcalcError):
    """The error for a pipeline where a model is needed."""


class Part(NamedTuple):
    """A part of a pipeline.

    Attributes:
        name: its folder.
        library: its library as the pipeline names it, or the module of diffusers' pipelines with its class.
        kind: its class.
        model: text that names it as a model; None for a part without a network.
    """

    name: str
    library: str
    kind: str
    model: str | None


class Pipeline(NamedTuple):
    """A pipeline: its name, its class, and its parts in their order."""

    name: str
    kind: str
    parts: tuple[Part, ...]


def read_pipeline(model: str, max_size: int) -> Pipeline:
    """Return the pipeline that a text names.

    Raises:
        NetcalcError: E502 if it is none; E001 to E004 if the file is malformed, or a part lacks its configuration; E007
            for one without parts; E008 if the Hub cannot be read.
    """
    source = find_source(model, max_size)
    if source is None or source.path.name != INDEX:
        hint = f"a pipeline of diffusers is a folder or a repository with a {INDEX}"
        raise NetcalcError(Diagnostic("E502", f"{model} is no pipeline", hint=hint))
    return pipeline_of(source, max_size)


def pipeline_of(source: Source, max_size: int) -> Pipeline:
    """Return the pipeline of a ``model_index.json``; NetcalcError as :func:`read_pipeline`."""
    index = source.parsed(max_size)
    kind = index.data.get("_class_name") if isinstance(index.data, dict) else None
    if not isinstance(kind, str):
        message = f"{source.label} should be an object with the class of a pipeline in _class_name"
        raise NetcalcError(Diagnostic("E004", message, index.span))
    parts: list[Part] = []
    problems: list[Diagnostic] = []
    for name, library, part_kind in _entries(index.data):
        try:
            model = _model(source, name, part_kind, max_size)
        except NetcalcError as error:
            problems += error.diagnostics
        else:
            parts.append(Part(name, library, part_kind, model))
    if not parts and not problems:
        message = f"{_folder(source)} is a pipeline of diffusers ({written(kind)}) without parts"
        problems.append(Diagnostic("E007", message, index.span))
    if problems:
        raise NetcalcError(problems)
    return Pipeline(_folder(source), kind, tuple(parts))


def pipeline_error(source: Source, max_size: int) -> PipelineError:
    """Return the error for a pipeline where a model is needed, with the models that it has."""
    pipeline = pipeline_of(source, max_size)
    names = ", ".join(part.model for part in pipeline.parts if part.model is not None)
    message = f"{pipeline.name} is a pipeline of diffusers ({written(pipeline.kind)}), which is several models"
    hint = f"`netcalc summary {pipeline.name}` lists them" + (f": {names}" if names else "")
    return PipelineError(Diagnostic("E007", message, source.parsed(max_size).span, hint=hint))


def _entries(index: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield name, library and class of each part; one that the pipeline goes without has null in their place."""
    for name, entry in index.items():
        pair = entry if isinstance(entry, list) and len(entry) == 2 else ()
        if name.isidentifier() and pair and all(isinstance(word, str) and word for word in pair):
            yield name, *pair


def _model(source: Source, name: str, kind: str, max_size: int) -> str | None:
    """Return the text that names a part as a model; None if it has no network."""
    if source.beside(f"{name}/{CONFIG}", max_size) is not None:
        if source.repository is not None:
            return str(source.repository.name.inside(name))
        return f"{_folder(source)}/{name}"
    if any(source.beside(f"{name}/{file}", max_size) is not None for file in _WITHOUT_NETWORK):
        return None
    message = f"{source.label} names the part {written(name, quoted=True)} ({written(kind)}), which has no {CONFIG}"
    raise NetcalcError(Diagnostic("E004", message))


def _folder(source: Source) -> str:
    """Return the folder or repository of a pipeline as its user names it."""
    if source.repository is not None:
        return str(source.repository.name)
    return source.label.removesuffix(INDEX).rstrip("/\\") or "."
