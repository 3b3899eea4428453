"""Models of sentence-transformers: a transformer, pooling, and layers on the sentence embedding.

``modules.json`` lists the modules, each with a folder of its own.  The transformer is read as any configuration; the
others become lines that the spec appends to it.
"""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.formats.documents import Description
from netcalc.formats.huggingface.reading import read_config
from netcalc.formats.huggingface.tables import Table, table_of
from netcalc.formats.huggingface.translation import translated
from netcalc.formats.sentence_transformers.modules import (
    Module,
    Value,
    dense_lines,
    normalize_lines,
    parsed_object,
    pooling_lines,
    read_modules,
)
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import load_document

_LINES = {"Dense": dense_lines, "Normalize": normalize_lines, "Pooling": pooling_lines}
#: Fields of sentence_bert_config.json, with the values that are known; None for those without effect.
_TRANSFORMER: dict[str, tuple[Any, ...] | None] = {
    "do_lower_case": None,
    "max_seq_length": None,
    "modality_config": ({"text": {"method": "forward", "method_output_name": "last_hidden_state"}},),
    "module_output_name": ("token_embeddings",),
    "processing_kwargs": None,
    "transformer_task": ("feature-extraction",),
    "unpad_inputs": None,
}


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of a model.

    Raises:
        NetcalcError: E007 for a module, a field or a value that netcalc does not know.
    """
    modules = read_modules(source, max_size)
    transformer, *others = modules
    config = read_config(transformer.file("config.json", max_size), max_size)
    table = table_of(config)
    base = translated(_as_base(config, table), table, source.name)
    data = dict(base.data)
    parent = load_document(data["extends"], max_size).document
    outputs: Any = data.get("outputs", parent.outputs)
    tokens = outputs.get("last_hidden_state") if isinstance(outputs, dict) else None
    if tokens is None:
        raise NetcalcError(Diagnostic("E007", f"{data['about']} has no embeddings of tokens to pool", config.span))
    if (length := _max_length(transformer, max_size)) is not None:
        data["dims"] = {**data["dims"], "length": length}
    mask = "attention_mask" if "attention_mask" in parent.inputs else None
    if mask is not None and "padding_mask" in parent.vars:
        data["vars"] = {**data["vars"], "padding_mask": True}
    lines: list[Any] = []
    spans = dict(base.spans)
    place = len(data.get("patch", ()))
    current = Value(tokens, 0)
    for module in others:
        added, current = _LINES[module.kind](module, current, mask, max_size)
        for number in range(len(lines), len(lines) + len(added)):
            spans["patch", place, "append", number] = (None, module.span)
        lines += added
    data["patch"] = [*data.get("patch", ()), {"append": lines}]
    data["outputs"] = {"sentence_embedding": current.name, "token_embeddings": tokens}
    data["about"] = f"{data['about']}, as a model of sentence-transformers"
    return Description(Cursor(data, (), spans), set(table.declarations()))


def _as_base(config: Cursor, table: Table) -> Cursor:
    """Return a configuration with the class that transformers.AutoModel loads: the model without a head."""
    named = config.data.get("architectures")
    models = table.part("models")
    stem = named[0].partition("For")[0].removesuffix("Model").removesuffix("LMHead") if _is_one(named) else ""
    chosen = next((name for name in (f"{stem}EncoderModel", f"{stem}Model") if name in models), None)
    if chosen is None:
        return config  # the translation names what is wrong with it
    return config.replaced({**config.data, "architectures": [chosen]})


def _is_one(named: Any) -> bool:
    return isinstance(named, list) and len(named) == 1 and isinstance(named[0], str)


def _max_length(transformer: Module, max_size: int) -> int | None:
    """Return the length of sequences that a model truncates to, if it says one."""
    source = transformer.optional_file("sentence_bert_config.json", max_size)
    if source is None:
        return None
    settings = parsed_object(source, max_size)
    for key, place in settings.items():
        allowed = _TRANSFORMER.get(key, ())
        if allowed is not None and place.data not in allowed:
            message = f"{key} = {written(place.data, quoted=True)} of the transformer is not known"
            raise NetcalcError(Diagnostic("E007", message, place.key_span))
    length = settings.data.get("max_seq_length")
    if length is not None and (type(length) is not int or length < 1):
        message = f"max_seq_length should be a number, not {written(length, quoted=True)}"
        raise NetcalcError(Diagnostic("E007", message, settings["max_seq_length"].span))
    return length
