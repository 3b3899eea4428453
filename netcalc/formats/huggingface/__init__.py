"""Configurations of Hugging Face models, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/huggingface/<model_type>.yaml`` says what each field means.  The
fields become vars of the spec, and the vars of the shipped spec expressions of them, so that ``--set`` takes both.
"""

from __future__ import annotations

from netcalc.formats.huggingface.reading import checked_config
from netcalc.formats.huggingface.tables import table_of
from netcalc.formats.huggingface.translation import translated
from netcalc.formats.sources import Source
from netcalc.spec.cursor import Cursor

__all__ = ["config_document"]


def config_document(config: Cursor, source: Source) -> tuple[Cursor, set[str]]:
    """Return the spec document of the model that a ``config.json`` describes, and the names of its fields.

    Raises:
        NetcalcError: with every error found; E007 for what netcalc does not know, which is never left out silently.
    """
    config = checked_config(config, source.label)
    table = table_of(config)
    return translated(config, table, source.name), set(table.declarations())
