"""Hints at texts where other values are meant: numbers, bools, lists, shapes, and expressions without ``${}``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, written
from netcalc.expressions import ExpressionError, parse
from netcalc.spec.cursor import Cursor
from netcalc.spec.yaml_document import parse_scalar

#: Hint at a size of an input that is no number of at least 1.
OPEN_SIZE = "a size that varies is a dim: write its name, as in `[batch, 8]`, and `dims: {batch: 1}` beside `inputs`"
#: Longest text and list that are read again for a hint.
_LONGEST = 200
_NAME = re.compile(r"\$\{\s*(\w+)\s*\}")
_BETWEEN_SIZES = re.compile(r"\s*[x×*,\s]\s*")
#: A whole number with commas or spaces between its thousands.
_THOUSANDS = re.compile(r"\d{1,3}([, ]\d{3})+")
#: What other languages write around an expression: ``$width``, ``$(width)``, ``{{ width }}`` and ``<width>``.
_FOREIGN_EXPRESSION = re.compile(r"\$(\w+)|\$\((.+)\)|\{\{(.+)\}\}|<(.+)>")
_BOOLS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class _Reading(NamedTuple):
    """Value that may be meant, what to write for it, and whether the text in quotes is that value."""

    value: Any
    text: str
    is_quoted: bool = False


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
    reading = next((found for found in _readings(value, scope) if accepts(found.value)), None)
    if reading is None:
        return problem
    name = _NAME.fullmatch(place.data) if isinstance(place.data, str) else None
    origin = None if name is None else place_of_var(name[1])
    if isinstance(value, float) and isinstance(place.data, str) and origin is None:  # of an expression
        text = place.data.replace("//", "/").replace("/", "//")
        return problem._replace(hint=f'write `"{text}"`: `/` gives no whole number') if "//" in text else problem
    if origin is not None and origin.data == value:
        problem = problem._replace(span=origin.span, related=(Related("used here", place.span),))
    return problem._replace(hint=f"write `{reading.text}`" + (", without quotes" if reading.is_quoted else ""))


def read_again(value: Any, scope: Mapping[str, Any]) -> Any:
    """Return a value with numbers and values of expressions in place of texts that are these."""
    return next((reading.value for reading in _readings(value, scope)), value)


def _quoted_number(value: Any) -> int | float | None:
    """Return the number that a text is, None if it is none."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    try:
        number = parse_scalar(value)
    except NetcalcError:
        return None
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def _readings(value: Any, scope: Mapping[str, Any]) -> Iterator[_Reading]:
    """Yield what a value may mean, the likeliest first."""
    if isinstance(value, (list, tuple)) and len(value) <= _LONGEST:
        items = [next(_readings(item, scope), _Reading(item, written(item, quoted=True))) for item in value]
        read = [item.value for item in items]
        if read != list(value):
            text = f"[{', '.join(item.text for item in items)}]"
            yield _Reading(read, text, is_quoted="${" not in text)
    elif isinstance(value, dict) and len(value) == 1 and list(value.values()) == [None]:  # {width}
        yield from _expressions(next(iter(value)), scope)
    elif isinstance(value, float) and value.is_integer():
        yield _Reading(int(value), written(int(value)))
    elif isinstance(value, str) and len(value) <= _LONGEST:
        yield from _readings_of_text(value, scope)


def _readings_of_text(text: str, scope: Mapping[str, Any]) -> Iterator[_Reading]:
    number = _quoted_number(text)
    if number is not None:
        yield _Reading(number, written(number), is_quoted=True)
    foreign = _FOREIGN_EXPRESSION.fullmatch(text.strip())
    yield from _expressions(text if foreign is None else next(filter(None, foreign.groups())), scope)
    if text.strip().lower() in _BOOLS:
        truth = _BOOLS[text.strip().lower()]
        yield _Reading(truth, written(truth))
    if _THOUSANDS.fullmatch(text.strip()):
        digits = int(re.sub("[, ]", "", text))
        yield _Reading(digits, written(digits))
    sizes = _sizes(text)
    if sizes is not None and len(sizes) > 1 and all(size.isdecimal() for size in sizes):
        yield _Reading([int(size) for size in sizes], f"[{', '.join(sizes)}]")


def _expressions(text: str, scope: Mapping[str, Any]) -> Iterator[_Reading]:
    """Yield the value of a text that is an expression with names."""
    if "${" in text:
        return
    try:
        expression = parse(text)
        if expression.names():
            yield _Reading(expression.evaluate(scope), f'"${{{text.strip()}}}"')
    except (NetcalcError, ExpressionError):
        pass


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
