"""Configurations of Hugging Face models, read as specs that extend shipped ones.

The correspondence is data: a table ``specs/<family>/huggingface/<model_type>.yaml`` says what each field means.  The
fields become vars of the spec, and the vars of the shipped spec expressions of them, so that ``--set`` takes both.
"""

from __future__ import annotations

from pathlib import Path

from netcalc.formats.huggingface.reading import read_config
from netcalc.formats.huggingface.tables import table_of
from netcalc.formats.huggingface.translation import translated
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.library import Loaded, load_cursor

__all__ = ["load_config"]


def load_config(path: Path, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load the spec of the model that a ``config.json`` describes.

    Raises:
        NetcalcError: with every error found; E007 for what netcalc does not know, which is never left out silently.
    """
    config = read_config(path, max_size)
    name = path.resolve().parent.name if path.name == "config.json" else path.stem
    document = translated(config, table_of(config), name)
    return load_cursor(document, str(path), max_size=max_size)
