"""Configurations of Hugging Face models, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/huggingface/<model_type>.yaml`` says what each field means.  The
fields become vars of the spec, and the vars of the shipped spec expressions of them, so that ``--set`` takes both.
"""

from __future__ import annotations

from netcalc.formats.documents import Description
from netcalc.formats.huggingface.quantization import storage_of
from netcalc.formats.huggingface.reading import read_config
from netcalc.formats.huggingface.tables import table_of
from netcalc.formats.huggingface.translation import DTYPE_FIELDS, translated
from netcalc.formats.sources import Source


def describe(source: Source, max_size: int) -> Description:
    """Return the spec document of the model that a ``config.json`` describes.

    Raises:
        NetcalcError: with every error found; E007 for what netcalc does not know, which is never left out silently.
    """
    config = read_config(source, max_size)
    table = table_of(config)
    document = translated(config, table, source.name)
    storage = storage_of(config, document.data["dtype"], source.label)
    storage = storage._replace(assumed=not any(config.data.get(name) for name in DTYPE_FIELDS))
    return Description(document, set(table.declarations()), storage=storage)
