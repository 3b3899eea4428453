"""Long lists that repeat themselves, such as the types of layers, written as short expressions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

#: Length of a list that is written in full.
_SHORT = 6


def shortened(values: Sequence[Any]) -> list[Any] | str:
    """Return a list, or a shorter expression of equal value.

    >>> shortened(["a", "a", "a", "b"] * 3 + ["a"])
    "${(['a'] * 3 + ['b']) * 3 + ['a']}"
    >>> shortened([1, 2, 3])
    [1, 2, 3]
    """
    listed = list(values)
    if len(listed) <= _SHORT or not all(map(_has_literal, listed)):
        return listed
    period = next(size for size in range(1, len(listed) + 1) if listed[size:] == listed[:-size])
    times, rest = divmod(len(listed), period)
    text = _runs(listed[:period])
    if times > 1:
        text = f"{text if period == 1 or ' + ' not in text else f'({text})'} * {times}"
    if rest:
        text += " + " + _runs(listed[:rest])
    expression = f"${{{text}}}"
    return expression if len(expression) < len(literal(listed)) else listed


def _runs(values: Sequence[Any]) -> str:
    """Return an expression that joins runs of equal values; values that are not repeated stand in one list."""
    parts: list[tuple[list[Any], int]] = []
    for value, group in groupby(values):
        count = len(list(group))
        if parts and count == parts[-1][1] == 1:
            parts[-1][0].append(value)
        else:
            parts.append(([value], count))
    return " + ".join(f"{literal(part)} * {count}" if count > 1 else literal(part) for part, count in parts)


def literal(value: Any) -> str:
    """Return a number, a word, null or a list of these as expressions write it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def _has_literal(value: Any) -> bool:
    """Return True for a value that has a literal: a word, a number, null, or a list of these."""
    if isinstance(value, (list, tuple)):
        return all(map(_has_literal, value))
    is_word = type(value) is str and value.replace("-", "_").isidentifier()
    return is_word or value is None or type(value) in (bool, int, float)
