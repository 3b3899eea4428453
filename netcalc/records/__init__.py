"""JSON records of results, which ``--format json`` prints, and the versions of their schemas.

A record begins with ``schema``, its name and version (``netcalc/summary/1``).  A new field keeps the version; a field
that is removed or redefined raises it.  The classes of results declare the fields (:mod:`netcalc.results`): a dataclass
or a named tuple is an object.  :mod:`netcalc.records.schema` has the JSON Schemas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from netcalc.models import Model
from netcalc.opdef import Operation
from netcalc.results import Entry
from netcalc.version import __version__

__all__ = ["REFERENCE", "VERSIONS", "as_dict", "entries", "head", "record", "schema_id", "written"]

#: The version of every record.
VERSIONS: dict[str, int] = {
    "shapes": 1,
    "params": 1,
    "flops": 1,
    "summary": 1,
    "compare": 2,
    "explain": 2,
    "run": 1,
    "gradients": 1,
    "rounding": 1,
    "train": 1,
    "verify": 1,
    "verify-module": 1,
    "weights": 1,
    "checkpoint": 1,
    "specs": 1,
    "spec-page": 1,
    "ops": 1,
    "operation": 1,
    "block": 1,
    "errors": 2,
    "code": 1,
    "model-types": 1,
    "signal": 1,
    "signal-comparison": 1,
    "memory": 1,
}

#: Records of reference pages and lists, which do not name the version of netcalc.
REFERENCE = frozenset({"specs", "spec-page", "ops", "operation", "block", "code", "model-types"})

#: For each type of result, the module of this package and the function that writes its record.
_WRITERS = {
    "Summary": ("summary", "summary_record"),
    "Comparison": ("compare", "comparison_record"),
    "SpecReference": ("specs", "spec_record"),
    "NetcalcError": ("errors", "error_record"),
}


def schema_id(name: str) -> str:
    """Return the name and version of a record, such as ``netcalc/summary/1``."""
    return f"netcalc/{name}/{VERSIONS[name]}"


def as_dict(result: Any) -> dict[str, Any]:
    """Return the JSON record of a result, as the command of the same name prints it with ``--format json``.

    Args:
        result: a result of :func:`netcalc.compare` or of a method of :class:`~netcalc.network.Network`, or a
            :class:`~netcalc.diagnostics.NetcalcError`.

    Raises:
        TypeError: the result has no record.

    >>> import netcalc
    >>> netcalc.as_dict(netcalc.load("mlp").summary())["totals"]["params"]
    535818
    """
    for base in type(result).__mro__:
        if base.__name__ in _WRITERS and base.__module__.startswith("netcalc."):
            module, function = _WRITERS[base.__name__]
            written: dict[str, Any] = getattr(import_module(f"{__name__}.{module}"), function)(result)
            return written
    return record(result)


def record(result: Any, name: str | None = None, /, **replaced: Any) -> dict[str, Any]:
    """Return the JSON record of a result.

    Args:
        result: a value of a class with a ``record_name``, or of any class with a ``name`` for the record.
        name: name of the record in :data:`~netcalc.records.VERSIONS`.
        replaced: values in place of those of the result, such as selected rows.

    Raises:
        TypeError: the result has no record.
    """
    name = name or getattr(result, "record_name", None)
    if name is None:
        raise TypeError(f"no record of {type(result).__name__}")
    return head(name) | _object(result, replaced)


def head(name: str) -> dict[str, Any]:
    """Return the first fields of a record: its name and version, and the version of netcalc."""
    return {"schema": schema_id(name)} | ({} if name in REFERENCE else {"netcalc": __version__})


def written(value: Any) -> Any:
    """Return a value with JSON types.

    Text stands for what JSON cannot hold: formulas, and numbers that are complex, infinite or NaN.  An operation is its
    name, or a mapping from its name to the attributes that are set.
    """
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    kind: Any = type(value)
    if entries(kind) is not None:
        return record(value) if hasattr(value, "record_name") else _object(value, {})
    if isinstance(value, Mapping):
        return {key: written(item) for key, item in value.items()}
    if isinstance(value, Operation):
        stated = {
            name: written(getattr(value, name))
            for name, field in kind.model_fields.items()
            if getattr(value, name) != field.default
        }
        return {value.name: stated} if stated else value.name
    if isinstance(value, Model):
        return {name: written(getattr(value, name)) for name in kind.model_fields}
    if isinstance(value, Iterable):
        return [written(item) for item in value]
    return float(value) if isinstance(value, Fraction) else str(value)


@cache
def entries(kind: type) -> tuple[Entry, ...] | None:
    """Return the fields of the objects of a class; None for a class whose values are no objects."""
    declared = getattr(kind, "record_fields", None)
    if declared is None:
        names = getattr(kind, "_fields", ()) if not is_dataclass(kind) else [field.name for field in fields(kind)]
        if not names:
            return None
        declared = [name for name in names if not name.startswith("_")]
    return tuple(Entry(entry) if isinstance(entry, str) else entry for entry in declared)


def _object(value: Any, replaced: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of a value; ``record_values`` of its class gives values in place of attributes."""
    if hasattr(value, "record_values"):
        replaced = value.record_values() | replaced
    kind: Any = type(value)
    found = {}
    for entry in entries(kind) or ():
        item = replaced[entry.name] if entry.name in replaced else attrgetter(entry.attribute or entry.name)(value)
        if callable(item):
            item = item()
        if entry.by is not None:
            item = {getattr(each, entry.by): each for each in item}
        if item is not None or not entry.optional:
            found[entry.name] = written(item)
    return found
