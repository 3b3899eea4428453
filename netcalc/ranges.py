"""Ranges of sizes, as ``--over`` takes them: ``NAME=1,2,4``, ``NAME=LOW:HIGH[:STEP]``, ``NAME=log:LOW:HIGH:COUNT``.

Values may be lists (``depths=[2,2,2,2],[3,4,6,3]``).  Bounds and steps are whole numbers, or decimals
(``0.25:2:0.25``), whose sums are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

from netcalc.diagnostics import Diagnostic, NetcalcError, pairs_of
from netcalc.limits import MAX_POINTS, MAX_RANGES

if TYPE_CHECKING:
    from decimal import Decimal

#: Ranges as they are given: texts, or values by name.
RangesArgument: TypeAlias = str | Iterable[str] | Mapping[str, Any]

#: Values of a range: a list, or a sequence that has them by their place.
Values: TypeAlias = Sequence[Any]

_NUMBER = re.compile(r"(-?\d{1,15})([kKMG]?)")
_DECIMAL = re.compile(r"-?\d{0,15}\.\d{1,15}|-?\d{1,15}(?:\.\d{0,15})?[eE][-+]?\d{1,2}")
#: Change of the depth of nested lists and mappings at a character.
_BRACKETS = {"[": 1, "{": 1, "]": -1, "}": -1}
_UNITS = {"": 1, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_HINT = "for example --over length=2048,8192, --over batch=1:8, --over width=0.25:2:0.25, --over length=log:1k:128k:8"
#: Digits of the values between the bounds of a range of decimals at equal ratios.
_DIGITS = 12
#: Digits with which these values are computed before they are rounded.
_PRECISION = 50


class Decimals(Sequence[float]):
    """Decimals at equal distances, each of which is computed exactly from its place and then rounded to a float."""

    __slots__ = ("_count", "first", "step")

    def __init__(self, first: Decimal, step: Decimal, count: int) -> None:
        self.first = first
        self.step = step
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> float: ...

    @overload
    def __getitem__(self, place: slice) -> Decimals | tuple[float, ...]: ...

    def __getitem__(self, place: int | slice) -> float | Decimals | tuple[float, ...]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(self._count)))
        if not -self._count <= place < self._count:
            raise IndexError(place)
        return float(self.first + (place % self._count) * self.step)


class Ranges(NamedTuple):
    """Values by name, each combination of which is a point.

    Texts among the values stand for themselves, as in ``--set``.  ``has_units`` is True if a number had a unit, as in
    2k, which is 2,048.
    """

    values: Mapping[str, Values]
    has_units: bool = False

    @property
    def points(self) -> Iterator[dict[str, Any]]:
        """The combinations of values, the last range varying fastest."""
        for combination in product(*self.values.values()):
            yield dict(zip(self.values, combination, strict=True))


def ranges_of(
    given: RangesArgument, most: int = MAX_POINTS, most_ranges: int = MAX_RANGES, most_points: int | None = None
) -> Ranges:
    """Return the ranges that texts or a mapping stand for.

    Args:
        given: texts, or values by name.
        most: number of values that a range may have.
        most_ranges: number of ranges.
        most_points: number of points of all ranges together; by default ``most``.

    Raises:
        NetcalcError: E502 for a malformed or empty range, a name that is given twice, or too many ranges or points.

    >>> ranges_of(["length=2k,8192", "batch=1:3"]).values
    {'length': (2048, 8192), 'batch': (1, 2, 3)}
    >>> ranges_of("length=log:1k:128k:8").values
    {'length': (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)}
    >>> ranges_of("width=0.1:0.3:0.1").values
    {'width': (0.1, 0.2, 0.3)}
    """
    has_units = False
    limit = int(most)

    def pair(text: str) -> tuple[str, Values]:
        nonlocal has_units
        name, equals, values = (part.strip() for part in text.partition("="))
        if not (name and equals and values):
            raise _refused(f"--over {text}: should be NAME=VALUES")
        has_units |= any(match[2] for part in re.split("[,:]", values) if (match := _NUMBER.fullmatch(part.strip())))
        return name, _values(text, values, limit)

    if isinstance(given, Mapping):
        values = {name: _listed(name, listed, limit) for name, listed in given.items()}
    else:
        values = pairs_of([given] if isinstance(given, str) else given, pair, "--over")
    if not values:
        raise _refused("--over: no range")
    if len(values) > most_ranges:
        raise _refused(f"--over: {len(values)} ranges, more than {int(most_ranges)}")
    points = prod(map(len, values.values()))
    if points > (most_points or most):
        raise _refused(f"--over: {points:,} points, more than {int(most_points or most):,}")
    return Ranges(values, has_units)


def _listed(name: str, values: Any, most: int) -> Values:
    """Return the values of a range of Python: a list or a ``range``, or a text."""
    if isinstance(values, str):
        return _values(f"{name}={values}", values, most)
    if isinstance(values, (int, float)):
        return (values,)
    if isinstance(values, range):
        if values and abs(values[-1] - values[0]) // abs(values.step) >= most:
            raise _refused(f"--over {name}: more than {most:,} values")
        return _checked(f"{name}", values, most)
    from netcalc.arguments import plain

    try:
        listed = tuple([*value] if isinstance(value, tuple) else plain(value) for value in values)
    except TypeError:
        raise _refused(f"--over {name}: should be a list of values") from None
    return _checked(f"{name}", listed, most)


def _values(text: str, values: str, most: int) -> Values:
    if "${" in values:
        hint = "--set sets what follows from other names"
        raise NetcalcError(Diagnostic("E502", f"--over {text}: an expression has no values of its own", hint=hint))
    if values.startswith("log:"):
        return _checked(text, _geometric(text, values.split(":")[1:], most), most)
    if ":" in values and not any(mark in values for mark in _BRACKETS):
        return _checked(text, _linear(text, values.split(":"), most), most)
    return _checked(text, tuple(_size(value.strip()) for value in _separated(values)), most)


def _separated(values: str) -> Iterator[str]:
    """Yield the values of a list, each of which may be a list itself: ``[2,2],[3,4]``."""
    depth, start = 0, 0
    for place, mark in enumerate(values):
        depth += _BRACKETS.get(mark, 0)
        if mark == "," and not depth:
            yield values[start:place]
            start = place + 1
    yield values[start:]


def _linear(text: str, parts: Sequence[str], most: int) -> Values:
    numbers = _numbers(text, parts, 2, 3)
    low, high, step = (*numbers, 1)[:3]
    if step <= 0:
        raise _refused(f"--over {text}: the step should be above 0")
    if high < low:
        raise _refused(f"--over {text}: the range is empty; it should be LOW:HIGH or LOW:HIGH:STEP with LOW up to HIGH")
    from decimal import Decimal
    from fractions import Fraction

    count = (Fraction(high) - Fraction(low)) // Fraction(step) + 1
    if count > most:
        raise _refused(f"--over {text}: {count:,} values, more than {most:,}")
    if all(isinstance(number, int) for number in numbers):
        return range(low, high + 1, step)
    return Decimals(Decimal(low), Decimal(step), count)


def _geometric(text: str, parts: Sequence[str], most: int) -> tuple[int | float, ...]:
    """Return numbers at equal ratios from the first to the last, rounded to whole ones if both are whole."""
    from decimal import Context, Decimal

    low, high, count = _numbers(text, parts, 3, 3)
    if not 0 < low < high or not isinstance(count, int) or not 2 <= count <= most:
        message = f"--over {text}: should be log:LOW:HIGH:COUNT with 0 < LOW < HIGH and a COUNT from 2 to {most:,}"
        raise _refused(message)
    precise = Context(prec=_PRECISION)
    ratio = precise.divide(Decimal(high), Decimal(low))

    def at(index: int) -> Decimal:
        power = precise.power(ratio, precise.divide(Decimal(index), Decimal(count - 1)))
        return precise.multiply(Decimal(low), power)

    inner = map(at, range(1, count - 1))
    if isinstance(low, int) and isinstance(high, int):
        return tuple(dict.fromkeys((low, *map(round, inner), high)))
    short = Context(prec=_DIGITS)
    return (float(low), *(float(short.plus(value)) for value in inner), float(high))


def _numbers(text: str, parts: Sequence[str], least: int, most: int) -> list[Any]:
    """Return bounds, step and count: whole numbers, and decimals as they are written."""
    numbers = [_size(part.strip(), exact=True) for part in parts]
    if not least <= len(numbers) <= most or any(isinstance(number, str) for number in numbers):
        raise _refused(f"--over {text}: should be LOW:HIGH, LOW:HIGH:STEP or log:LOW:HIGH:COUNT, of numbers")
    return numbers


def _size(text: str, *, exact: bool = False) -> Any:
    """Return the number that a text stands for, with 2k for 2,048; another text as it is.

    Args:
        text: a value of a range.
        exact: True to return decimals, too, as they are written.
    """
    match = _NUMBER.fullmatch(text)
    if match is not None:
        return int(match[1]) * _UNITS[match[2]]
    if exact and _DECIMAL.fullmatch(text):
        from decimal import Decimal

        return Decimal(text)
    return text


def _checked(text: str, values: Values, most: int) -> Values:
    """Return values, in a tuple unless they are many and have an order."""
    if len(values) > most:
        raise _refused(f"--over {text}: {len(values):,} values, more than {most:,}")
    if isinstance(values, (range, Decimals)) and len(values) > MAX_POINTS:
        return values
    if not values or "" in values:
        raise _refused(f"--over {text}: {'a value is' if values else 'the range is'} empty")
    if not all(value is None or isinstance(value, (bool, int, float, str, list)) for value in values):
        raise _refused(f"--over {text}: a value should be a number, a word, True or False, or a list")
    unique = tuple({repr(value) if isinstance(value, list) else value: value for value in values}.values())
    if len(unique) < len(values):
        raise _refused(f"--over {text}: a value is given twice")
    return unique


def _refused(message: str) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", message, hint=_HINT))
