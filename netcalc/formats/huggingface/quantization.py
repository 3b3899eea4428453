"""Quantization that a configuration describes: a known method with known fields, or an error.

Shapes and work belong to the model that is meant; how its tensors are stored concerns the audit of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, did_you_mean, written
from netcalc.dtypes import DType
from netcalc.ir.storage import OwnStorage
from netcalc.schemes.configuration import KEYS, UnsettledError, described, quantization_of
from netcalc.schemes.methods import Fields, Method, method_named, method_of, unknown_method
from netcalc.spec.cursor import Cursor
from netcalc.spec.declarations import declare_variable


class Problem(NamedTuple):
    """A field or value that is not known, with its place."""

    message: str
    place: Cursor
    hint: str | None = None


def quantization_problems(config: Cursor) -> Iterator[Problem]:
    """Yield every field and value that is not known in what a configuration says of its quantization."""
    given = [config.data[key] for key in KEYS if config.data.get(key) is not None]
    if len(given) == len(KEYS) and given[0] != given[1]:
        yield Problem(f"{' and '.join(KEYS)} should say the same", config[KEYS[1]], "leave one of them out")
    for key in KEYS:
        if config.data.get(key) is None:
            continue
        place = config[key]
        if not isinstance(place.data, dict):
            yield Problem(f"{key} should be an object, not {written(place.data, quoted=True)}", place)
            continue
        method = method_named(method_of(place.data))
        if method is None:
            error = unknown_method(place.data, key)
            yield Problem(error.message, place, error.hint)
        else:
            yield from _unknown(place, method, method.fields, ())


def storage_of(config: Cursor, dtype: DType, name: str) -> OwnStorage:
    """Return how a configuration says that parameters are stored, or errors at the fields that leave it open.

    Args:
        config: the configuration, whose fields are known.
        dtype: element type of the model.
        name: name of the configuration, for messages.
    """
    quantization = quantization_of(config.data, name)
    if quantization is None:
        return OwnStorage()
    place = config.at(quantization.place)
    try:
        rules = quantization.rules(dtype)
    except UnsettledError as why:
        problems = (Diagnostic("E007", text, place.at(field).key_span, hint=hint) for field, text, hint in why.problems)
        return OwnStorage(text=quantization.method.name, unsettled=tuple(problems))
    rules = tuple(
        rule._replace(place=place.at(tuple(rule.field.split("."))).key_span, cause_place=place.at(rule.cause).key_span)
        for rule in rules
    )
    return OwnStorage(rules, described(rules))


def _unknown(place: Cursor, method: Method, fields: Fields, path: tuple[str, ...]) -> Iterator[Problem]:
    """Yield what is not known in a mapping; ``path`` is its place in the patterns of the method."""
    shown = ".".join(map(str, place.path))
    for name in fields.required:
        if place.data.get(name) is None:
            yield Problem(f"the field '{shown}.{name}' is missing, which {method.name} requires", place)
    for key, value in place.items():
        inner = next((p for p in method.nested if _matches(p, (*path, key))), None)
        if method.by_module and key not in fields.declared and isinstance(value.data, (bool, dict)):
            yield from _of_module(value, method, f"{shown}.{key}")
        elif key in fields.declared:
            yield from _value_problems(key, value, fields, shown)
        elif not path and key == "quant_method":
            continue
        elif inner is not None and not isinstance(value.data, (dict, type(None))):
            hint = f"{method.storage.told_by} would tell how parameters are stored"
            yield Problem(f"{shown}.{key} should be an object, not {written(value.data, quoted=True)}", value, hint)
        elif inner is None and key not in fields.without_effect:
            message = f"the field '{shown}.{key}' of {method.name} is not known; it is {written(value.data)}"
            yield Problem(message, value, did_you_mean(key, [*fields.declared, *fields.without_effect]))
        if inner is not None and isinstance(value.data, dict):
            yield from _unknown(value, method, method.nested[inner], (*path, key))
        elif isinstance(value.data, dict) and any(p.startswith(".".join((*path, key)) + ".") for p in method.nested):
            yield from _unknown(value, method, Fields({}, frozenset()), (*path, key))


def _value_problems(key: str, value: Cursor, fields: Fields, shown: str) -> Iterator[Problem]:
    try:
        declare_variable(key, fields.declared[key]).check(value.data)
    except ValueError as why:
        yield Problem(f"{shown}.{key} {why}", value)


def _of_module(value: Cursor, method: Method, shown: str) -> Iterator[Problem]:
    """Yield what is not known in the settings of a module, which are a flag or fields."""
    for key, own in value.items() if isinstance(value.data, dict) else ():
        if key in method.fields.declared:
            yield from _value_problems(key, own, method.fields, shown)
        else:
            yield Problem(f"the field '{shown}.{key}' of {method.name} is not known; it is {written(own.data)}", own)


def _matches(pattern: str, path: tuple[str, ...]) -> bool:
    """Return True if a path is one that a pattern means, in which * stands for any key."""
    parts = pattern.split(".")
    return len(parts) == len(path) and all(part in ("*", key) for part, key in zip(parts, path, strict=True))
