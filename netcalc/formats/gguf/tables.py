"""Tables of architectures in GGUF: the meaning of each key of the metadata and of each tensor, as data.

A table ``specs/<family>/gguf/<general.architecture>.yaml`` has these keys::

    source: the architecture in llama.cpp
    models: {NAME: {when: condition, extends: SPEC, …}}  # the first whose condition holds; all that a spec may have
    fields: {KEY: default}                    # of the metadata, without the architecture's name before it; or
                                              # {type, default, min, max, choices}; without a default it is required
    tensors: {FIELD: {present: PATTERN}}      # true if there are such tensors;
                                              # or {absent: PATTERN}, or {size: NAME, axis: number}
    vars: {VAR: "${an expression of fields}"} # every var of the spec that is not a field of the same name
    dims: {DIM: "${an expression of fields}"}
    require: [{that: condition, message: text}] # what the spec cannot express is refused
    without_effect: [KEY]                     # on shapes and work
    checkpoint: {PATH: …}                     # the names of tensors, as in a spec
    changes: [{tensors: PATTERN, undo: {KIND: [numbers]}}]  # what the conversion to GGUF changed in tensors

In expressions a key has underscores in place of its dots, and one that has the name of a var with an expression is
called ``config_KEY``.  The field ``rope.scaling`` is what all keys that begin so say.  A list of equal numbers, one for
each layer, is the number.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, written
from netcalc.formats.table_files import find_table, nearest_known, table_names
from netcalc.spec.cursor import Cursor

#: The keys of a table.
KEYS = ("source", "models", "fields", "tensors", "vars", "dims", "require", "without_effect", "checkpoint", "changes")
_LISTS = ("require", "without_effect", "changes")
_FOLDER = "gguf"


class GgufTable(NamedTuple):
    """The table of an architecture."""

    architecture: str
    family: str
    cursor: Cursor

    def part(self, key: str) -> Any:
        """Return the entries of a key; none if the table lacks it."""
        return self.cursor.data.get(key) or ([] if key in _LISTS else {})


def table_of(architecture: Any, file: str) -> GgufTable:
    """Return the table of ``general.architecture`` in a file; NetcalcError (E007) if there is none."""
    table = read_table(architecture) if isinstance(architecture, str) else None
    if table is not None:
        return table
    hint = nearest_known(architecture, architectures(), "architecture")
    message = f"models of the architecture {written(architecture, quoted=True)} cannot be imported from GGUF"
    raise NetcalcError(Diagnostic("E007", message, Span(file), hint=hint))


@cache
def read_table(architecture: str) -> GgufTable | None:
    """Return the table of an architecture; None if there is none."""
    table = find_table(architecture, _FOLDER)
    return None if table is None else GgufTable(architecture, *table)


def architectures() -> list[str]:
    """Return every architecture that has a table."""
    return table_names(_FOLDER)
