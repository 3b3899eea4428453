"""Inputs of a spec that its lines mention, in ``from`` or in an expression."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from netcalc.characters import NAME, PART

#: Keys of lines with texts that refer to no value.
_NO_VALUES = ("name", "as", "about")
#: Name or path of a value, or the name of a list.
_NAME = re.compile(rf"{NAME}(?:\.(?:{PART}|\*))*")


def mentioned_inputs(inputs: Collection[str], lines: Any) -> frozenset[str]:
    """Return the declared inputs that occur in lines or outputs, by name, as a list, or for the first one as ``in``.

    Names that differ in a number only are not told apart.
    """
    names = {name: _without_numbers(name.split(".")) for name in inputs}
    lengths = {name.count(".") + 1 for name in inputs}
    words: set[str] = set()
    for text in _texts(lines):
        for word in _NAME.findall(text):
            parts = word.split(".")
            words.update(_without_numbers(parts[:length]) for length in lengths if length <= len(parts))
            words |= {"in"} if parts[0] == "in" else set()
    first = next(iter(names), None)
    return frozenset(name for name, form in names.items() if form in words or (name == first and "in" in words))


def _without_numbers(parts: Sequence[str]) -> str:
    return ".".join("*" if part.isdecimal() else part for part in parts)


def _texts(data: Any) -> Iterator[str]:
    """Yield every text in ``data`` that may refer to a value."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)
    elif isinstance(data, Mapping):
        yield from (key for key in data if "${" in key)
        for key, item in data.items():
            if key not in _NO_VALUES:
                yield from _texts(item)
