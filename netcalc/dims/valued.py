"""Whole numbers with the formulas that they are the values of.

Code for numbers runs on them as it is, and its results have formulas too.  It decides by the numbers; a decision that
is another one at other sizes is recorded as an assumption.  Only equality goes by formulas, unless ``by_value``: a
batch of 1 is no 1 then, so that the result holds for other batches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from netcalc.dims.atoms import bounds_of
from netcalc.dims.order import Assumption, record
from netcalc.dims.polynomial import Dim, Poly, maximum

_NEGATIONS = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}

#: Function that brings formulas into their usual form, and True if equality goes by values.
_rules: ContextVar[tuple[Callable[[Dim], Dim], bool]] = ContextVar("_rules", default=(lambda size: size, False))


@contextmanager
def comparing_values(settle: Callable[[Dim], Dim], *, by_value: bool = False) -> Iterator[None]:
    """Compare numbers with formulas, which ``settle`` brings into their usual form, inside the block."""
    token = _rules.set((settle, by_value))
    try:
        yield
    finally:
        _rules.reset(token)


def _arithmetic(name: str, of_forms: Callable[[Any, Any], Any], *, swapped: bool = False) -> Any:
    plain = getattr(int, name)

    def apply(self: Valued, other: Any) -> Any:
        value = plain(self, other)
        if value is NotImplemented or not isinstance(other, int):
            return value
        left, right = (other, self) if swapped else (self, other)
        return _with_form(value, of_forms(form_of(left), form_of(right)))

    return apply


def _comparison(name: str, relation: str) -> Any:
    plain = getattr(int, name)

    def compare(self: Valued, other: Any) -> Any:
        holds = plain(self, other)
        if holds is not NotImplemented:
            _note(Assumption(self.form, relation if holds else _NEGATIONS[relation], form_of(other)))
        return holds

    return compare


class Valued(int):
    """A whole number with its formula."""

    form: Poly

    __add__ = _arithmetic("__add__", operator.add)
    __radd__ = _arithmetic("__radd__", operator.add, swapped=True)
    __sub__ = _arithmetic("__sub__", operator.sub)
    __rsub__ = _arithmetic("__rsub__", operator.sub, swapped=True)
    __mul__ = _arithmetic("__mul__", operator.mul)
    __rmul__ = _arithmetic("__rmul__", operator.mul, swapped=True)
    __floordiv__ = _arithmetic("__floordiv__", operator.floordiv)
    __rfloordiv__ = _arithmetic("__rfloordiv__", operator.floordiv, swapped=True)
    __mod__ = _arithmetic("__mod__", operator.mod)
    __rmod__ = _arithmetic("__rmod__", operator.mod, swapped=True)
    __lt__ = _comparison("__lt__", "<")
    __le__ = _comparison("__le__", "<=")
    __gt__ = _comparison("__gt__", ">")
    __ge__ = _comparison("__ge__", ">=")

    def __neg__(self) -> int:
        return _with_form(-int(self), -self.form)

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int):
            return NotImplemented
        settle, by_value = _rules.get()
        if self.form == form_of(other) or settle(self.form) == settle(form_of(other)):
            return True
        if not by_value or int(self) != int(other):
            return False
        _note(Assumption(self.form, "==", form_of(other)))
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, int) else NotImplemented


def valued(size: Dim, sizes: Mapping[str, int] | None = None) -> int:
    """Return the value of a size, with its formula; a name that ``sizes`` lack takes its default.

    Raises:
        UndecidedError: a size has no default.

    >>> from netcalc.dims import symbol
    >>> n = valued(symbol("n", default=4))
    >>> n * n + 1, str(form_of(n * n + 1))
    (17, 'n**2 + 1')
    """
    return size if isinstance(size, int) else _with_form(size.at(sizes or {}), size)


def form_of(number: int) -> Dim:
    """Return the formula of a number, which is the number itself if it has none."""
    return number.form if isinstance(number, Valued) else number


def largest(*numbers: int) -> int:
    """Return the largest number; of numbers with formulas it has the maximum of these."""
    if not any(isinstance(number, Valued) for number in numbers):
        return max(numbers)
    form = maximum(*map(form_of, numbers))
    return _with_form(max(map(int, numbers)), form)


def _with_form(value: int, form: Dim) -> int:
    if isinstance(form, int):
        return int(value)
    number = Valued(value)
    number.form = form
    return number


def _note(claim: Assumption) -> None:
    left: Any = claim.left
    if claim.within(bounds_of(left - claim.right)) is None:
        record([claim])
