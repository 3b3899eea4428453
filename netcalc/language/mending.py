"""Documents without what is not as it should be yet, so that the lines keep their shapes while a declaration is typed.

What is left out has no value in its place: what depends on it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netcalc.diagnostics import Diagnostic, Span
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.document import Document

#: Keys that no shape depends on.
UNRELATED = frozenset(
    (
        *("name", "about", "source", "family", "aliases", "tags", "architecture", "published", "budget", "notes"),
        *("tensor_parallel", "checkpoint", "init", "outputs", "loss", "require"),
    )
)
#: Keys whose entries others refer to by name, so that nothing takes the place of one that is missing.
NAMED = frozenset(("dims", "vars"))
#: Keys that a spec may have.
_KEYS = frozenset(field.alias or name for name, field in Document.model_fields.items())
#: A block that cannot be called.
_NO_BLOCK = {"layers": [None]}


def mended(cursor: Cursor, diagnostics: Iterable[Diagnostic], label: str) -> Cursor | None:
    """Return the document of a text without the parts with errors; None if shapes may depend on them in other ways.

    These are keys that no shape depends on, keys without a value, blocks, and in a spec that inherits nothing
    declarations of dims and vars, and keys that a spec does not have.
    """
    if not isinstance(cursor.data, dict):
        return None
    data: dict[str, Any] = dict(cursor.data)
    inherits = not data.keys().isdisjoint(("extends", "import"))
    for item in diagnostics:
        if item.span is None or item.span.file != label:
            return None
        key, *inside = _path_at(cursor, item.span)[:2] or [""]
        declared = data.get(str(key))
        if key in UNRELATED or declared is None or (key not in _KEYS and not inherits):
            data.pop(str(key), None)
        elif key == "blocks" and isinstance(declared, dict) and inside:
            data["blocks"] = {**declared, inside[0]: _NO_BLOCK}
        elif key in NAMED and isinstance(declared, dict) and inside and not inherits:
            data[str(key)] = {name: value for name, value in declared.items() if name != inside[0]}
        else:
            return None
    return _with_cursors(cursor, data)


def _path_at(cursor: Cursor, span: Span) -> Path:
    """Return the path of what is marked, or of the last entry that begins before it at the top and below."""
    exact = [path for path, places in cursor.spans.items() if path and span in places]
    if exact:
        return max(exact, key=len)
    path: Path = ()
    for _ in range(2):
        data = cursor.at(path).data
        starts = (
            (places[0].line, places[0].column, key)
            for key in (data if isinstance(data, dict) else ())
            if (places := cursor.spans.get((*path, key))) is not None and places[0] is not None
        )
        before = [start for start in starts if start[:2] <= (span.line, span.column)]
        if not before:
            break
        path = (*path, max(before)[2])
    return path


def _with_cursors(cursor: Cursor, data: dict[str, Any]) -> Cursor:
    """Return a document with other data, and the cursors of what is as it was."""
    document = Cursor(data, (), cursor.spans)
    for key, value in data.items():
        if value is cursor.data[key]:
            document.keep(key, cursor[key])
        elif key == "blocks":
            for name, block in value.items():
                if block is not _NO_BLOCK:
                    document[key].keep(name, cursor[key][name])
    return document
