"""Hints at texts where other values are meant: quoted numbers, names and expressions without ``${}``, shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, written
from netcalc.expressions import ExpressionError, parse
from netcalc.spec.cursor import Cursor
from netcalc.spec.yaml_document import parse_scalar

#: Longest text and list that are read again for a hint.
_LONGEST = 200
_NAME = re.compile(r"\$\{\s*(\w+)\s*\}")
_BETWEEN_SIZES = re.compile(r"\s*[x×*,\s]\s*")


def explained(
    problem: Diagnostic,
    value: Any,
    place: Cursor,
    scope: Mapping[str, Any],
    accepts: Callable[[Any], bool],
    place_of_var: Callable[[str], Cursor | None] = lambda name: None,
) -> Diagnostic:
    """Return the diagnostic of a refused value with what to write in place of a text: its number, or an expression.

    A number in quotes that a var has is an error at the var.

    Args:
        problem: the diagnostic, without a hint.
        value: the value, or a list with such texts.
        place: the value as it is written.
        scope: the names that expressions may use there.
        accepts: returns True for a value that is not refused.
        place_of_var: returns the value of a var as it is written, None for a name that stands for something else.
    """
    read, text = _read_again(value, scope)
    if read == value or not accepts(read):
        return problem
    if "${" in text:
        return problem._replace(hint=f"write `{text}`")
    name = _NAME.fullmatch(place.data) if isinstance(place.data, str) else None
    origin = None if name is None else place_of_var(name[1])
    if origin is not None and origin.data == value:
        problem = problem._replace(span=origin.span, related=(Related("used here", place.span),))
    return problem._replace(hint=f"write `{text}`, without quotes")


def read_again(value: Any, scope: Mapping[str, Any]) -> Any:
    """Return a value with numbers and values of expressions in place of texts that are these."""
    return _read_again(value, scope)[0]


def _quoted_number(value: Any) -> int | float | None:
    """Return the number that a text is, None if it is none."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    try:
        number = parse_scalar(value)
    except NetcalcError:
        return None
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def _read_again(value: Any, scope: Mapping[str, Any]) -> tuple[Any, str]:
    """Return what :func:`read_again` does, and what to write for it."""
    if isinstance(value, (list, tuple)) and len(value) <= _LONGEST:
        items = [_read_again(item, scope) for item in value]
        return [read for read, _ in items], f"[{', '.join(text for _, text in items)}]"
    number = _quoted_number(value)
    if number is not None:
        return number, written(number)
    if isinstance(value, str) and len(value) <= _LONGEST and "${" not in value:
        try:
            expression = parse(value)
            if expression.names():
                return expression.evaluate(scope), f'"${{{value.strip()}}}"'
        except (NetcalcError, ExpressionError):
            pass
    return value, written(value, quoted=True)


def shape_hint(data: Any, *, named: bool) -> str | None:
    """Return how to write sizes that are no list: ``1x3x32x32``, ``1, 3, 32`` or a single number; None for other data.

    ``named`` is True where a name belongs before the shape.

    >>> shape_hint("1x3x32x32", named=False), shape_hint([1, 8], named=True)
    ('write `[1, 3, 32, 32]`', 'write `{x: [1, 8]}`, with a name for the input')
    """
    sizes = _sizes(data)
    if sizes is None:
        return None
    shape = f"[{', '.join(sizes)}]"
    return f"write `{{x: {shape}}}`, with a name for the input" if named else f"write `{shape}`"


def _sizes(data: Any) -> list[str] | None:
    if isinstance(data, str) and len(data) <= _LONGEST:
        data = [part for part in _BETWEEN_SIZES.split(data.strip(" ()[]")) if part]
    elif isinstance(data, int) and not isinstance(data, bool):
        data = [data]
    if not isinstance(data, list) or not data or len(data) > _LONGEST:
        return None
    sizes = [written(size) for size in data]
    is_shape = any(size.isdecimal() for size in sizes) and all(
        size.isidentifier() or size.isdecimal() for size in sizes
    )
    return sizes if is_shape else None
