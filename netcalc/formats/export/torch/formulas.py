"""Sizes that follow from the length of an axis, as formulas of that length rather than of the sizes of the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from netcalc.dims import Poly, ceil_div


class Formula(NamedTuple):
    """A formula of a length ``{a}`` and a second size ``{p}``."""

    text: str
    value: Callable[[Any, Any], Any]


def _up(a: Any, p: Any) -> Any:
    """Return the next multiple of a size."""
    return ceil_div(a, p) * p


#: Formulas that windows, patches and their padding have, simple ones first.
FORMULAS = (
    Formula("{a} // {p}", lambda a, p: a // p),
    Formula("{a} * {p}", lambda a, p: a * p),
    Formula("{a} - {p}", lambda a, p: a - p),
    Formula("{a} + {p}", lambda a, p: a + p),
    Formula("{a} % {p}", lambda a, p: a - a // p * p),
    Formula("-{a} % {p}", lambda a, p: _up(a, p) - a),
    Formula("({a} + {p} - 1) // {p}", ceil_div),
    Formula("({a} + {p} - 1) // {p} * {p}", _up),
    Formula("{a} - {p} // 2", lambda a, p: a - p // 2),
)
#: Numbers that a formula may have beside the sizes that are arguments.
_NUMBERS = (2, 4)


def formula_of(
    values: Sequence[Any], lengths: Sequence[Any], others: Sequence[tuple[str, Sequence[Any]]]
) -> tuple[str, str] | None:
    """Return the formula and its second size for values that follow from the lengths of an axis at all calls.

    Args:
        values: the value at each call.
        lengths: the length of the axis at each call.
        others: sizes that the formula may refer to, by name, with their values at each call.
    """
    choices = [*others, *((str(number), [number] * len(values)) for number in _NUMBERS)]
    for formula in FORMULAS:
        for name, sizes in choices:
            if all(
                _equal(formula, length, size, value) for length, size, value in zip(lengths, sizes, values, strict=True)
            ):
                return formula.text, name
    return None


def _equal(formula: Formula, length: Any, size: Any, value: Any) -> bool:
    if not isinstance(length, (int, Poly)) or not isinstance(size, (int, Poly)) or size == 0:
        return False
    return bool(formula.value(length, size) == value)
