"""Configurations of Hugging Face models, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/huggingface/<model_type>.yaml`` says what each field means.  The
fields become vars of the spec, and the vars of the shipped spec expressions of them, so that ``--set`` takes both.
"""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.diagnostics import Diagnostic
from netcalc.formats.documents import Description
from netcalc.formats.huggingface.quantization import storage_of
from netcalc.formats.huggingface.reading import read_config
from netcalc.formats.huggingface.tables import table_of
from netcalc.formats.huggingface.translation import translated
from netcalc.formats.sources import Source
from netcalc.schemes.configuration import KEYS, stated_dtype

#: Files of earlier libraries that stand beside a configuration, and the methods that they describe.
_ELSEWHERE = {"quantize_config.json": "gptq", "quant_config.json": "awq", "hf_quant_config.json": "modelopt"}


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of the model that a ``config.json`` describes.

    Raises:
        NetcalcError: with every error found; E007 for what netcalc does not know, which is never left out silently.
    """
    config = read_config(source, max_size)
    table = table_of(config)
    document = translated(config, table, source.name)
    storage = storage_of(config, document.data["dtype"], source.label)
    if not storage.rules and not storage.unsettled and source.repository is None:
        storage = storage._replace(unsettled=tuple(_said_elsewhere(source, max_size)))
    storage = storage._replace(assumed=stated_dtype(config.data) is None)
    return Description(document, set(table.declarations()), storage=storage)


def _said_elsewhere(source: Source, max_size: int) -> Iterator[Diagnostic]:
    """Yield an error for each file beside a configuration that says how the model is quantized in its place."""
    for name, method in _ELSEWHERE.items():
        file = source.beside(name, max_size)
        if file is not None:
            message = f"{file.label} says how {source.name} is quantized, and {source.path.name} has no {KEYS[0]}"
            hint = f'copy its fields there, with "quant_method": "{method}"; --quantize or --dtype replaces it'
            yield Diagnostic("E007", message, hint=hint)
