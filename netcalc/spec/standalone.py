"""The document of a loaded spec with its settings, complete in itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec.cursor import Cursor
from netcalc.spec.inheritance import merged
from netcalc.spec.library import Loaded, find_block

#: Keys that come first in the text of a spec.
_HEAD = ("netcalc", "name", "about", "family", "tags", "architecture", "source", "dtype")
#: Keys that come last.
_TAIL = ("layers", "outputs", "loss", "checkpoint")


def standalone_document(loaded: Loaded, settings: Mapping[str, Any], dtype: str | None = None) -> dict[str, Any]:
    """Return the document of a spec as plain data, with what it extends and the blocks that it imports.

    Args:
        loaded: the spec.
        settings: values of dims and vars by name, which become their defaults.
        dtype: element type in place of the spec's.

    Raises:
        NetcalcError: E502 if two of the files that it imports have different blocks of one name.
    """
    document = loaded.cursor
    chosen = {
        key: {name: value for name, value in settings.items() if name in (document.data.get(key) or {})}
        for key in ("dims", "vars")
    }
    changed: dict[str, Any] = {key: values for key, values in chosen.items() if values}
    if dtype is not None:
        changed["dtype"] = dtype
    data = dict(merged(document, Cursor(changed, (), {})).data if changed else document.data)
    data.pop("import", None)
    blocks = {**(data.get("blocks") or {}), **_imported(loaded)}
    if blocks:
        data["blocks"] = blocks
    ordered = {key: data.pop(key) for key in _HEAD if key in data}
    ordered |= {key: data.pop(key) for key in list(data) if key not in _TAIL}
    return {key: _plain_copy(value) for key, value in {**ordered, **data}.items()}


def _imported(loaded: Loaded) -> dict[str, Any]:
    """Return the declarations of blocks of other files that are not found by their names alone."""
    blocks: dict[str, Any] = {}
    for name, block in loaded.blocks.items():
        if block.home is loaded or block is find_block(name):
            continue
        for other, theirs in block.home.blocks.items():
            if loaded.blocks.get(other) is not theirs and find_block(other) is not theirs:
                message = f"the spec imports different blocks with the name {other!r}, which one document cannot have"
                raise NetcalcError(Diagnostic("E502", message))
        blocks[name] = block.cursor.data
    return blocks


def _plain_copy(value: Any) -> Any:
    """Return a copy of a value of a document as plain data."""
    if isinstance(value, Mapping):
        return {str(key): _plain_copy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_copy(item) for item in value]
    return str(value) if isinstance(value, str) else value
