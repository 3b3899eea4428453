"""Ranges of sizes, as ``--over`` takes them: ``NAME=1,2,4``, ``NAME=LOW:HIGH[:STEP]``, ``NAME=log:LOW:HIGH:COUNT``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, pairs_of
from netcalc.limits import MAX_POINTS, MAX_RANGES

#: Ranges as they are given: texts, or values by name.
RangesArgument: TypeAlias = str | Iterable[str] | Mapping[str, Any]

_NUMBER = re.compile(r"(\d{1,15})([kKMG]?)")
_UNITS = {"": 1, "k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_HINT = "for example --over length=2048,8192, --over batch=1:8, --over length=log:1k:128k:8"


class Ranges(NamedTuple):
    """Values by name, each combination of which is a point.

    Texts among the values stand for themselves, as in ``--set``.  ``has_units`` is True if a number had a unit, as in
    2k, which is 2,048.
    """

    values: Mapping[str, Sequence[Any]]
    has_units: bool = False

    @property
    def points(self) -> Iterator[dict[str, Any]]:
        """The combinations of values, the last range varying fastest."""
        for combination in product(*self.values.values()):
            yield dict(zip(self.values, combination, strict=True))


def ranges_of(given: RangesArgument) -> Ranges:
    """Return the ranges that texts or a mapping stand for.

    Raises:
        NetcalcError: E502 for a malformed or empty range, a name that is given twice, or too many ranges or points.

    >>> ranges_of(["length=2k,8192", "batch=1:3"]).values
    {'length': (2048, 8192), 'batch': (1, 2, 3)}
    >>> ranges_of("length=log:1k:128k:8").values
    {'length': (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)}
    """
    has_units = False

    def pair(text: str) -> tuple[str, tuple[Any, ...]]:
        nonlocal has_units
        name, equals, values = (part.strip() for part in text.partition("="))
        if not (name and equals and values):
            raise _refused(f"--over {text}: should be NAME=VALUES")
        has_units |= any(match[2] for part in re.split("[,:]", values) if (match := _NUMBER.fullmatch(part.strip())))
        return name, _values(text, values)

    if isinstance(given, Mapping):
        values = {name: _listed(name, listed) for name, listed in given.items()}
    else:
        values = pairs_of([given] if isinstance(given, str) else given, pair, "--over")
    if not values:
        raise _refused("--over: no range")
    if len(values) > MAX_RANGES:
        raise _refused(f"--over: {len(values)} ranges, more than {int(MAX_RANGES)}")
    points = prod(map(len, values.values()))
    if points > MAX_POINTS:
        raise _refused(f"--over: {points:,} points, more than {int(MAX_POINTS):,}")
    return Ranges(values, has_units)


def _listed(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values of a range of Python: a list or a ``range``, or a text."""
    if isinstance(values, str):
        return _values(f"{name}={values}", values)
    if isinstance(values, int):
        return (values,)
    try:
        listed = tuple(values[: MAX_POINTS + 1] if isinstance(values, range) else values)
    except TypeError:
        raise _refused(f"--over {name}: should be a list of values") from None
    return _checked(f"{name}", listed)


def _values(text: str, values: str) -> tuple[Any, ...]:
    if values.startswith("log:"):
        return _checked(text, _geometric(text, values.split(":")[1:]))
    if ":" in values:
        return _checked(text, _linear(text, values.split(":")))
    return _checked(text, tuple(_size(value.strip()) for value in values.split(",")))


def _linear(text: str, parts: Sequence[str]) -> Sequence[int]:
    numbers = _whole(text, parts, 2, 3)
    low, high, step = (*numbers, 1)[:3]
    if high < low or step < 1:
        raise _refused(f"--over {text}: should be LOW:HIGH or LOW:HIGH:STEP with LOW up to HIGH and a step from 1")
    return range(low, high + 1, step)[: MAX_POINTS + 1]


def _geometric(text: str, parts: Sequence[str]) -> Sequence[int]:
    """Return numbers at equal ratios from the first to the last, rounded to whole ones."""
    low, high, count = _whole(text, parts, 3, 3)
    if not 1 <= low < high or not 2 <= count <= MAX_POINTS:
        message = (
            f"--over {text}: should be log:LOW:HIGH:COUNT with 1 ≤ LOW < HIGH and a COUNT from 2 to {MAX_POINTS:,}"
        )
        raise _refused(message)
    inner = (round(low * (high / low) ** (index / (count - 1))) for index in range(1, count - 1))
    return tuple(dict.fromkeys((low, *inner, high)))


def _whole(text: str, parts: Sequence[str], least: int, most: int) -> list[int]:
    numbers = [_size(part.strip()) for part in parts]
    if not least <= len(numbers) <= most or not all(isinstance(number, int) for number in numbers):
        raise _refused(f"--over {text}: should be LOW:HIGH, LOW:HIGH:STEP or log:LOW:HIGH:COUNT, of whole numbers")
    return numbers


def _size(text: str) -> Any:
    """Return the number that a text stands for, with 2k for 2,048; another text as it is."""
    match = _NUMBER.fullmatch(text)
    return text if match is None else int(match[1]) * _UNITS[match[2]]


def _checked(text: str, values: Sequence[Any]) -> tuple[Any, ...]:
    if not values or "" in values:
        raise _refused(f"--over {text}: a value is empty")
    if not all(value is None or isinstance(value, (bool, int, float, str)) for value in values):
        raise _refused(f"--over {text}: a value should be a number, a word, or True or False")
    if len(values) > MAX_POINTS:
        raise _refused(f"--over {text}: more than {int(MAX_POINTS):,} points")
    unique = tuple(dict.fromkeys(values))
    if len(unique) < len(values):
        raise _refused(f"--over {text}: a value is given twice")
    return unique


def _refused(message: str) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", message, hint=_HINT))
