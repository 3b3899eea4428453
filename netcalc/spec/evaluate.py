"""Values in a spec: plain data with ``${…}`` in it, evaluated where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.expressions import Expression, ExpressionError, parse
from netcalc.spec.source import Cursor, within

__all__ = ["evaluate", "evaluate_expression", "names_in"]

_HOLE = re.compile(r"\$\{([^}]*)\}")
#: Modifiers of a line that hold an expression without ``${}``.
_BARE = frozenset({"when", "repeat", "share", "freeze"})


def evaluate(cursor: Cursor, scope: Mapping[str, Any], known: Iterable[str] = ()) -> Any:
    """The data at ``cursor`` with every ``${…}`` replaced by its value; lists and mappings throughout.

    A text that is one hole gives the value itself, otherwise the holes are printed into the text.
    """
    data = cursor.data
    if isinstance(data, str):
        return _text(data, cursor, scope, known)
    if isinstance(data, list):
        return [evaluate(item, scope, known) for item in cursor.elements()]
    if isinstance(data, dict):
        return {key: evaluate(value, scope, known) for key, value in cursor.items()}
    return data


def evaluate_expression(cursor: Cursor, scope: Mapping[str, Any], known: Iterable[str] = ()) -> Any:
    """The value at ``cursor`` where an expression is expected, so that ``${}`` may be left out."""
    data = cursor.data
    if not isinstance(data, str):
        return data
    if _HOLE.fullmatch(data.strip()):
        return _text(data.strip(), cursor, scope, known)
    return _expression(data, cursor, scope, known)


def names_in(data: Any, *, bare: bool = False) -> frozenset[str]:
    """Every name that the expressions in ``data`` refer to; ``bare``: the text itself is an expression."""
    if isinstance(data, str):
        texts = [data] if bare and "${" not in data else _HOLE.findall(data)
        found: frozenset[str] = frozenset()
        for text in texts:
            try:
                found |= parse(text).names()
            except ExpressionError:
                continue  # reported when it is evaluated
        return found
    if isinstance(data, list):
        return frozenset().union(*(names_in(item, bare=bare) for item in data))
    if isinstance(data, dict):
        own = (names_in(value, bare=bare or key in _BARE) for key, value in data.items())
        return frozenset().union(*own, *(names_in(key) for key in data))
    return frozenset()


def _text(text: str, cursor: Cursor, scope: Mapping[str, Any], known: Iterable[str]) -> Any:
    if "${" not in text:
        return text
    whole = _HOLE.fullmatch(text)
    if whole:
        return _expression(whole[1], cursor, scope, known)
    if text.count("${") != len(_HOLE.findall(text)):
        raise NetcalcError(Diagnostic("E201", "'${' without its '}'", within(cursor.span, "${", 0, 2)))
    return _HOLE.sub(lambda hole: str(_expression(hole[1], cursor, scope, known)), text)


def _expression(text: str, cursor: Cursor, scope: Mapping[str, Any], known: Iterable[str]) -> Any:
    try:
        expression: Expression = parse(text)
        return expression.evaluate(scope)
    except ExpressionError as error:
        hint = did_you_mean(error.name, known) if error.name else None
        length = len(error.name) if error.name else 1
        span = within(cursor.span, text, error.column, length) if text else cursor.span
        raise NetcalcError(Diagnostic(error.code, error.message, span, hint=hint)) from None
