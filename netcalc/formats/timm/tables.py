"""Tables of architectures of timm, as data.

A table ``specs/<family>/timm/<module>.yaml`` has these keys::

    source: the module in timm
    models: {ARCHITECTURE: {extends: SPEC, fields: {FIELD: default}, …}}  # and anything else that a spec may have
    image_size: ARGUMENT                        # that gives the size of images, if there is one
    fields: {FIELD: default}                    # arguments of the class; or {type, default, min, max, choices}
    vars: {VAR: "${an expression of fields}"}   # every var of the spec
    dims: {DIM: "${an expression of fields}"}
    require: [{that: condition, message: text}] # what the spec cannot express is refused
    checkpoint: {PATH: NAME}                    # the names of tensors in timm, as in a spec
    init: {PATTERN: INITIALIZER}                # of parameters that the class draws in another way than the spec
    without_effect: [ARGUMENT]                  # on shapes and work

The fields ``num_classes``, ``global_pool``, ``image_channels``, ``image_height`` and ``image_width`` stand outside
``model_args``.  In expressions, a field that has the name of a var is called ``config_FIELD``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from netcalc.formats.table_files import find_table, table_names
from netcalc.spec.cursor import Cursor

#: The keys of a table.
KEYS = ("source", "models", "image_size", "fields", "vars", "dims", "require", "checkpoint", "init", "without_effect")


class Table(NamedTuple):
    """The table of a module of timm."""

    family: str
    cursor: Cursor

    def part(self, key: str) -> Any:
        """Return the entries of a key; none if the table lacks it."""
        return self.cursor.data.get(key) or ([] if key in ("require", "without_effect") else {})


@cache
def tables() -> tuple[Table, ...]:
    """Return every table."""
    entries = (find_table(name, "timm") for name in table_names("timm"))
    return tuple(Table(*table) for table in entries if table is not None)


def architectures() -> list[str]:
    """Return every architecture that has a table."""
    return sorted(name for table in tables() for name in table.part("models"))


def table_of(architecture: str) -> Table | None:
    """Return the table of an architecture; None if there is none."""
    return next((table for table in tables() if architecture in table.part("models")), None)
