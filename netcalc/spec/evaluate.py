"""Evaluation of plain data that contains ``${…}`` expressions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from netcalc.characters import WORD
from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean, written
from netcalc.dims import Dim, Poly, at_least, refuse_symbols, spend
from netcalc.expressions import ExpressionError, parse
from netcalc.limits import MAX_ITEMS
from netcalc.spec.cursor import Cursor, kept, within

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_ANYTHING = re.compile(r"(?s).*")
#: Keys of names, paths and descriptions, which are no expressions without ``${}``.
_TEXT_KEYS = frozenset({"name", "from", "as", "tie", "module", "about", "source", "message", "holds", "formerly"})
#: Modifiers of a line that hold an expression without ``${}``.
_EXPRESSION_KEYS = frozenset({"when", "repeat", "share", "freeze", "inline"})


def evaluate(cursor: Cursor, scope: Mapping[str, Any]) -> Any:
    """Return the data at ``cursor`` with every ``${…}`` replaced by its value, in lists and mappings too.

    A string that is a single ``${…}`` gives the value itself; otherwise values are formatted into the string.

    Raises:
        NetcalcError: E201 to E203; an unknown name is compared with all names of ``scope`` for a suggestion.
    """
    data = cursor.data
    if isinstance(data, str):
        return _string(data, cursor, scope)
    if isinstance(data, list):
        return [evaluate(item, scope) for item in cursor.elements()]
    if isinstance(data, dict):
        return {key: evaluate(value, scope) for key, value in cursor.items()}
    return data


def evaluate_expression(cursor: Cursor, scope: Mapping[str, Any]) -> Any:
    """Return the value at ``cursor`` where an expression is expected and ``${}`` is optional."""
    data = cursor.data
    if not isinstance(data, str):
        return data
    if "${" in data and _single_placeholder(data.strip()) is not None:
        return _string(data.strip(), cursor, scope)
    return _expression(data, cursor, scope)


def evaluate_size(cursor: Cursor, scope: Mapping[str, Any], least: int = 1) -> Dim:
    """Return the size at ``cursor``, where ``${}`` is optional; NetcalcError (E104) if it is less than ``least``."""
    value = evaluate_expression(cursor, scope)
    if isinstance(value, bool) or not isinstance(value, (int, Poly)) or not at_least(value, least):
        message = f"a size should be a whole number of at least {least}, not {written(value, quoted=True)}"
        raise cursor.error("E104", message)
    return value


def evaluate_requirement(cursor: Cursor, scope: Mapping[str, Any]) -> bool:
    """Return True if the condition at ``cursor`` holds; what symbolic sizes leave open is assumed to hold."""
    single = _PLACEHOLDER.fullmatch(cursor.data.strip())
    text = single[1] if single else cursor.data
    try:
        return parse(text).holds(scope)
    except (NetcalcError, ExpressionError) as error:
        raise _error_at_place(error, text, cursor, scope) from None


def names_at(cursor: Cursor, *, is_expression: bool = False) -> frozenset[str]:
    """Return the names used by the expressions at ``cursor``, as :func:`names_in` does."""
    return kept(cursor.derived, (names_in, is_expression), lambda: names_in(cursor.data, is_expression=is_expression))


def is_closed(text: Cursor) -> bool:
    """Return True if the expressions in a text need no more of their scope than the values of names."""

    def needs_names_only() -> bool:
        try:
            return all(parse(part).function is not None for part in _PLACEHOLDER.findall(text.data))
        except ExpressionError:
            return False

    return kept(text.derived, is_closed, needs_names_only)


def names_in(data: Any, *, is_expression: bool = False) -> frozenset[str]:
    """Return every name used by the expressions in ``data``.

    ``is_expression`` is True if a string without ``${}`` is itself an expression.
    """
    if isinstance(data, str):
        texts = [data] if is_expression and "${" not in data else _PLACEHOLDER.findall(data)
        names: frozenset[str] = frozenset()
        for text in texts:
            try:
                names |= parse(text).names()
            except ExpressionError:
                continue  # reported when it is evaluated
        return names
    if isinstance(data, list):
        return frozenset().union(*(names_in(item, is_expression=is_expression) for item in data))
    if isinstance(data, dict):
        values = (names_in(v, is_expression=is_expression or k in _EXPRESSION_KEYS) for k, v in data.items())
        return frozenset().union(*values, *(names_in(key) for key in data))
    return frozenset()


def words_in(data: Any, *, keys: bool = False) -> frozenset[str]:
    """Return every word in ``data`` that may be a name in an expression, with ``keys`` also in keys of mappings.

    Names and descriptions count only where they hold ``${…}``, as keys always do without ``keys``.
    """
    words: set[str] = set()
    pending: list[tuple[Any, bool]] = [(data, False)]
    while pending:
        item, is_text = pending.pop()
        if isinstance(item, str):
            words.update(*(WORD.findall(text) for text in (_PLACEHOLDER.findall(item) if is_text else (item,))))
        elif isinstance(item, list):
            pending += [(part, is_text) for part in item]
        elif isinstance(item, dict):
            pending += [(key, not keys) for key in item]
            pending += [(value, is_text or key in _TEXT_KEYS) for key, value in item.items()]
    return frozenset(words)


def places_of_names(document: Cursor, names: Collection[str]) -> dict[str, Span | None]:
    """Return for each name the first place in a document where an expression may use it."""
    places: dict[str, Span | None] = {}
    pending = [(document, False)]
    while pending:
        cursor, is_text = pending.pop()
        data = cursor.data
        if isinstance(data, str):
            parts = _PLACEHOLDER.finditer(data) if is_text or "${" in data else (_ANYTHING.match(data),)
            for word in (word for part in parts if part for word in WORD.finditer(data, *part.span())):
                if word[0] in names and word[0] not in places:
                    places[word[0]] = within(cursor.span, data, word.start(), len(word[0]))
        elif isinstance(data, list):
            pending += reversed([(item, is_text) for item in cursor.elements()])
        elif isinstance(data, dict):
            entries = [(cursor.replaced(key), True) for key in data if "${" in key]
            entries += ((item, is_text or key in _TEXT_KEYS) for key, item in cursor.items())
            pending += reversed(entries)
    return places


def used_by_others(words: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the names that other entries mention; ``words`` are the words in each entry, by its name."""
    count = Counter(word for own in words.values() for word in own)
    return frozenset(name for name, own in words.items() if count[name] > (name in own))


@lru_cache(maxsize=4096)
def _single_placeholder(text: str) -> str | None:
    """Return the expression of a text that is a single placeholder."""
    placeholder = _PLACEHOLDER.fullmatch(text)
    return placeholder[1] if placeholder else None


def _string(text: str, cursor: Cursor, scope: Mapping[str, Any]) -> Any:
    if "${" not in text:
        return text
    single = _single_placeholder(text)
    if single is not None:
        value = _expression(single, cursor, scope)
        if isinstance(value, list):
            spend(len(value))  # it is checked item by item where it is used
        return value
    if text.count("${") != len(_PLACEHOLDER.findall(text)):
        raise NetcalcError(Diagnostic("E201", "'${' without a closing '}'", within(cursor.span, "${", 0, 2)))
    return _fill_placeholders(text, cursor, scope)


@lru_cache(maxsize=4096)
def _split_placeholders(text: str) -> tuple[str, ...]:
    """Return the parts of a text around its placeholders, alternating with the expressions in the placeholders."""
    return tuple(_PLACEHOLDER.split(text))


def _fill_placeholders(text: str, cursor: Cursor, scope: Mapping[str, Any]) -> str:
    """Return a text with the values of its placeholders; NetcalcError (E203) if it becomes too long."""
    parts: list[str] = []
    length = 0
    *pairs, last = _split_placeholders(text)
    for before, expression in zip(pairs[::2], pairs[1::2], strict=True):
        parts += before, str(refuse_symbols(_expression(expression, cursor, scope)))
        length += len(parts[-2]) + len(parts[-1])
        if length > MAX_ITEMS:
            break
    parts.append(last)
    if length + len(parts[-1]) > MAX_ITEMS:
        raise cursor.error("E203", f"a text of over {MAX_ITEMS:,} characters", "a value that it contains is too long")
    return "".join(parts)


def _expression(text: str, cursor: Cursor, scope: Mapping[str, Any]) -> Any:
    try:
        return parse(text).evaluate(scope)
    except (NetcalcError, ExpressionError) as error:
        raise _error_at_place(error, text, cursor, scope) from None


def _error_at_place(
    error: NetcalcError | ExpressionError, text: str, cursor: Cursor, scope: Mapping[str, Any]
) -> NetcalcError:
    """Return the error of parsing and evaluating an expression with its place."""
    if isinstance(error, NetcalcError):  # of value('path'), which has no place yet
        return error.at(cursor.span)
    length = len(error.name) if error.name else 1
    span = within(cursor.span, text, error.column, length) if text else cursor.span
    hint = did_you_mean(error.name, scope) if error.name else None
    if error.name == "index":
        hint = "`index` is the number of an iteration, and known in lines with `repeat`"
    return NetcalcError(Diagnostic(error.code, error.message, span, hint=hint))
