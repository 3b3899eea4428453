"""Hints for unknown names of operations, blocks and attributes: names of other libraries, and misspelt names.

The names of other libraries are data: ``data/foreign_names.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import did_you_mean, nearest, simplified
from netcalc.spec.yaml_document import parse_yaml

_FILE = Path(__file__).parent.parent / "data" / "foreign_names.yaml"
_AXES = re.compile(r"[123]d$")
#: Spatial axes that a name without them means, in order of preference.
_PREFERRED_AXES = ("2d", "1d", "3d")
#: Stands in the table for each of these.
_ANY_AXES = "Nd"
_KINDS = ("operation", "attribute", "modifier", "key", "value")


class _Table(NamedTuple):
    """Foreign names, simplified: netcalc's names of each, and advice for those that have no counterpart."""

    names: Mapping[str, tuple[str, ...]]
    advice: Mapping[str, str]


class Suggestion(NamedTuple):
    """Name that an unknown one probably stands for, if there is one, and the hint that says so."""

    name: str | None
    hint: str | None


def suggested_operation(name: str, known: Iterable[str]) -> Suggestion:
    """Return what to write for an unknown operation or block; ``known`` are the names that a line may have.

    >>> suggested_operation("nn.MaxPool2d", ["max_pool1d", "max_pool2d"]).hint
    'use `max_pool2d`'
    """
    known = list(known)
    suggestion = _suggested(name.rpartition(".")[2], known, _tables()["operation"])
    near = suggestion.name
    if near is not None and _AXES.search(near) and not re.search(r"\d", name):
        alike = [c for axes in _PREFERRED_AXES if (c := _AXES.sub(axes, near)) in known]
        return Suggestion(alike[0], (suggestion.hint or "").replace(near, alike[0]))
    return suggestion


def suggested_attribute(name: str, known: Iterable[str], present: Collection[str] = ()) -> Suggestion:
    """Return what to write for an unknown attribute of an operation, or argument of a block.

    Args:
        name: the unknown name.
        known: the attributes that there are.
        present: names that stand beside it, and that cannot be given twice.
    """
    return _suggested(name, list(known), _tables()["attribute"], present)


def suggested_modifier(name: str, known: Iterable[str]) -> str | None:
    """Return the hint for an unknown modifier of a line."""
    return _suggested(name, list(known), _tables()["modifier"]).hint


def suggested_key(name: str, known: Iterable[str], present: Collection[str] = ()) -> Suggestion:
    """Return what to write for an unknown key of a spec or of a declaration; ``present`` are the keys beside it."""
    return _suggested(name, list(known), _tables()["key"], present)


def operation_advice(names: Iterable[str]) -> str | None:
    """Return what to do about the first of the names that have no counterpart among operations."""
    advice = _tables()["operation"].advice
    return next((advice[key] for key in map(_key, names) if key in advice), None)


def suggested_value(value: str, known: Iterable[str]) -> str | None:
    """Return the hint for a value that is none of the known ones, all of which the message lists."""
    table = _tables()["value"]
    own, hint = _suggested(value.rpartition(".")[2], list(known), table)
    return hint if own is not None or hint in table.advice.values() else None


def _suggested(name: str, known: Collection[str], table: _Table, present: Collection[str] = ()) -> Suggestion:
    own = _own_name(name, known, table.names)
    if own is not None:
        return Suggestion(own, f"use `{own}`" + (", which is given already" if own in present else ""))
    advice = next((table.advice[variant] for variant in _variants(name) if variant in table.advice), None)
    if advice is not None:
        return Suggestion(None, advice)
    return Suggestion(nearest(name, known), did_you_mean(name, known, present))


def _own_name(name: str, known: Collection[str], names: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the known name that is spelled differently, or that the table gives for a foreign one."""
    spelled: dict[str, str] = {}
    for own in known:
        spelled.setdefault(_key(own), own)
    for variant in _variants(name):
        if variant in spelled:
            return spelled[variant]
        own_names = (own for own in names.get(variant, ()) if own in known)
        if (own_name := next(own_names, None)) is not None:
            return own_name
    return None


def _variants(name: str) -> Iterator[str]:
    """Yield a name simplified, and with the number of spatial axes that it lacks, or without the number that it has."""
    key = _key(name)
    yield key
    if _AXES.search(key):
        yield _AXES.sub("", key)
    else:
        yield from (key + axes for axes in _PREFERRED_AXES)


def _key(name: str) -> str:
    key = simplified(name)
    for word, own in _words().items():
        key = key.replace(word, own)
    return key


@cache
def _words() -> Mapping[str, str]:
    words: Mapping[str, str] = _data()["words"]
    return words


@cache
def _tables() -> dict[str, _Table]:
    data = _data()
    return {kind: _table(data[f"{kind}s"], data[f"{kind}_advice"]) for kind in _KINDS}


def _table(names: Mapping[str, list[str]], advice: Mapping[str, list[str]]) -> _Table:
    foreign: dict[str, tuple[str, ...]] = {}
    for own, others in names.items():
        for other in others:
            for axes in _PREFERRED_AXES if _ANY_AXES in own else ("",):
                key = _key(other.replace(_ANY_AXES, axes))
                foreign[key] = (*foreign.get(key, ()), own.replace(_ANY_AXES, axes))
    return _Table(foreign, {_key(name): text for text, others in advice.items() for name in others})


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return data
