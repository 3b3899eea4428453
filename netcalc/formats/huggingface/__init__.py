"""Configurations of Hugging Face models, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/huggingface/<model_type>.yaml`` says what each field means.  The
fields become vars of the spec, and the vars of the shipped spec expressions of them, so that ``--set`` takes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.formats.documents import imported
from netcalc.formats.huggingface.reading import read_config
from netcalc.formats.huggingface.tables import table_of
from netcalc.formats.huggingface.translation import translated
from netcalc.formats.sources import Source
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.cursor import Cursor
from netcalc.spec.library import Loaded, load_cursor

__all__ = ["import_config", "load_config"]


def load_config(source: Source, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load the spec of the model that a ``config.json`` describes.

    Raises:
        NetcalcError: with every error found; E007 for what netcalc does not know, which is never left out silently.
    """
    return load_cursor(_document(source, max_size), source.label, max_size=max_size)


def import_config(source: Source, settings: Mapping[str, Any], max_size: int = MAX_SPEC_SIZE) -> dict[str, Any]:
    """Return the spec of a configuration with numbers in place of fields, as data that can be written to a file.

    Args:
        source: the ``config.json``.
        settings: values of fields, dims and vars by name, in place of those of the configuration.
        max_size: largest size in bytes of each file that is read.

    Raises:
        NetcalcError: as :func:`load_config`, and for invalid settings.
    """
    document = _document(source, max_size)
    loaded = load_cursor(document, source.label, max_size=max_size)
    fields = set(table_of(read_config(source, max_size)).declarations())
    return imported(document, loaded, fields, settings)


def _document(source: Source, max_size: int) -> Cursor:
    """Return the spec document of a configuration."""
    config = read_config(source, max_size)
    return translated(config, table_of(config), source.name)
