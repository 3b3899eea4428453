"""JSON data of results: an object for each dataclass and named tuple, with the fields that its class declares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Any

from netcalc.models import Model
from netcalc.opdef import Operation
from netcalc.results import Entry
from netcalc.version import __version__

_NAMES = (
    *("shapes", "params", "flops", "summary", "compare", "explain", "run", "gradients", "rounding", "train", "verify"),
    *(
        "verify-module",
        "verify-reference",
        "weights",
        "check",
        "checkpoint",
        "specs",
        "spec-page",
        "ops",
        "operation",
        "block",
        "errors",
    ),
    *(
        "code",
        "model-types",
        "signal",
        "signal-comparison",
        "train-comparison",
        "memory",
        "memory-table",
        "reproduce",
        "fit",
        "budget",
        "graph",
        "reconcile",
        "reconcile-models",
        "reconcile-reported",
        "time",
        "pipeline",
        "report",
        "compute-optimal",
        "formulas",
        "scaling",
        "solution",
        "sweep",
        "export",
    ),
)
#: The version of every record, 1 for a new one.
VERSIONS: dict[str, int] = dict.fromkeys(_NAMES, 1) | {
    "compare": 2,
    "explain": 2,
    "errors": 2,
    "operation": 2,
    "ops": 2,
}

#: Records of reference pages and lists, which do not name the version of netcalc.
REFERENCE = frozenset({"specs", "spec-page", "ops", "operation", "block", "code", "model-types"})


def schema_id(name: str) -> str:
    """Return the name and version of a record, such as ``netcalc/summary/1``."""
    return f"netcalc/{name}/{VERSIONS[name]}"


def record(result: Any, name: str | None = None, /, **replaced: Any) -> dict[str, Any]:
    """Return the JSON record of a result.

    Args:
        result: a value of a class with a ``record_name``, or of any class with a ``name`` for the record.
        name: name of the record in :data:`~netcalc.records.VERSIONS`.
        replaced: values in place of the result's own, such as selected rows.

    Raises:
        TypeError: the result has no record.
    """
    name = name or getattr(result, "record_name", None)
    if name is None:
        raise TypeError(f"no record of {type(result).__name__}")
    head = {"schema": schema_id(name)} | ({} if name in REFERENCE else {"netcalc": __version__})
    return head | _object(result, replaced)


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
    if isinstance(value, Iterable):
        return [written(item) for item in value]
    return float(value) if isinstance(value, Fraction) else str(value)


@cache
def entries(kind: type) -> tuple[Entry, ...] | None:
    """Return the fields of the objects of a class; None for a class whose values are no objects."""
    declared = getattr(kind, "record_fields", getattr(kind, "_fields", None))
    if declared is None and is_dataclass(kind):
        declared = [field.name for field in fields(kind)]
    elif declared is None and issubclass(kind, Model) and not issubclass(kind, Operation):
        declared = kind.model_fields
    return declared and tuple(Entry(entry) if isinstance(entry, str) else entry for entry in declared)


def _object(value: Any, replaced: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of a value.

    ``record_values`` of its class returns values in place of attributes, and further fields, such as figures.
    """
    further = value.record_values() if hasattr(value, "record_values") else {}
    replaced = {**further, **replaced}
    kind: Any = type(value)
    members = {}
    for entry in entries(kind) or ():
        item = replaced[entry.name] if entry.name in replaced else attrgetter(entry.attribute or entry.name)(value)
        if callable(item):
            item = item()
        if entry.by is not None:
            item = {getattr(each, entry.by): each for each in item}
        if item is not None or not entry.optional:
            members[entry.name] = written(item)
    return members | {name: written(item) for name, item in further.items() if name not in members and item is not None}
