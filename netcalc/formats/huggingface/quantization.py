"""Quantisation that a configuration describes: a known method with known fields, or an error.

Shapes and work are those of the model that is meant; how its tensors are stored concerns the audit of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.diagnostics import did_you_mean, written
from netcalc.spec.cursor import Cursor
from netcalc.spec.declarations import declare_variable
from netcalc.weights.packing.schemes import Fields, Scheme, method_of, read_scheme, unknown_method

__all__ = ["KEYS", "Problem", "quantization_problems"]

#: Keys of a configuration that describe a quantisation; the second is that of MLX.
KEYS = ("quantization_config", "quantization")


class Problem(NamedTuple):
    """A field or value that is not known, with its place."""

    message: str
    place: Cursor
    hint: str | None = None


def quantization_problems(config: Cursor) -> Iterator[Problem]:
    """Yield every field and value that is not known in what a configuration says of its quantisation."""
    for key in KEYS:
        if config.data.get(key) is None:
            continue
        place = config[key]
        if not isinstance(place.data, dict):
            yield Problem(f"{key} should be an object, not {written(place.data, quoted=True)}", place)
            continue
        scheme = read_scheme(method_of(place.data))
        if scheme is None:
            error = unknown_method(place.data, key)
            yield Problem(error.message, place, error.hint)
        else:
            yield from _unknown(place, scheme, scheme.fields, ())


def _unknown(place: Cursor, scheme: Scheme, fields: Fields, path: tuple[str, ...]) -> Iterator[Problem]:
    """Yield what is not known in a mapping; ``path`` is its place in the patterns of the scheme."""
    shown = ".".join(map(str, place.path))
    for key, value in place.items():
        inner = next((p for p in scheme.nested if _matches(p, (*path, key))), None)
        if scheme.by_module and key not in fields.declared and isinstance(value.data, (bool, dict)):
            yield from _of_module(value, scheme, f"{shown}.{key}")
        elif key in fields.declared:
            yield from _wrong(key, value, fields, shown)
        elif not path and key == "quant_method":
            continue
        elif inner is None and key not in fields.without_effect:
            message = f"the field '{shown}.{key}' of {scheme.method} is not known; it is {written(value.data)}"
            yield Problem(message, value, did_you_mean(key, [*fields.declared, *fields.without_effect]))
        if inner is not None and isinstance(value.data, dict):
            yield from _unknown(value, scheme, scheme.nested[inner], (*path, key))
        elif isinstance(value.data, dict) and any(p.startswith(".".join((*path, key)) + ".") for p in scheme.nested):
            yield from _unknown(value, scheme, Fields({}, frozenset()), (*path, key))


def _wrong(key: str, value: Cursor, fields: Fields, shown: str) -> Iterator[Problem]:
    try:
        declare_variable(key, fields.declared[key]).check(value.data)
    except ValueError as why:
        yield Problem(f"{shown}.{key} {why}", value)


def _of_module(value: Cursor, scheme: Scheme, shown: str) -> Iterator[Problem]:
    """Yield what is not known in the settings of a module, which are a flag or fields."""
    for key, own in value.items() if isinstance(value.data, dict) else ():
        if key in scheme.fields.declared:
            yield from _wrong(key, own, scheme.fields, shown)
        else:
            yield Problem(f"the field '{shown}.{key}' of {scheme.method} is not known; it is {written(own.data)}", own)


def _matches(pattern: str, path: tuple[str, ...]) -> bool:
    """Return True if a path is one that a pattern means, in which * stands for any key."""
    parts = pattern.split(".")
    return len(parts) == len(path) and all(part in ("*", key) for part, key in zip(parts, path, strict=True))
