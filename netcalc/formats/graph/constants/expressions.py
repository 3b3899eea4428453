"""Elements of constant tensors as expressions of their indices, with symbolic sizes.

An integer is a polynomial of degree one in indices and in calls, an element of another type is a number or a call.
The functions here bring them into a common form, so that equal expressions are mostly equal objects; ``sizes`` are
the sizes of the axes, which bound the indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from netcalc.dims import Dim

__all__ = [
    "Call",
    "Expression",
    "Index",
    "Linear",
    "Number",
    "axes_of",
    "call",
    "index",
    "integer",
    "least",
    "never_negative",
    "plus",
    "size_of",
    "substituted",
    "times",
    "truth",
    "whole",
]


class Index(NamedTuple):
    """The index along an axis."""

    axis: int


class Call(NamedTuple):
    """A function of expressions; ``settings`` are further arguments.

    The names of functions of floating-point numbers, which are computed as operations do, begin with ``@``.
    """

    function: str
    operands: tuple[Expression, ...]
    settings: tuple[Any, ...] = ()


class Number(NamedTuple):
    """A floating-point number, or a truth value (``kind`` is float or bool)."""

    kind: str
    value: float


class Linear(NamedTuple):
    """An integer: a constant and multiples of indices and of other integers."""

    constant: Dim
    terms: frozenset[tuple[Index | Call, Dim]] = frozenset()


Expression: TypeAlias = Call | Number | Linear


def integer(value: Dim) -> Linear:
    """Return a constant integer."""
    return Linear(value)


def index(axis: int, sizes: Sequence[Dim]) -> Linear:
    """Return the index along an axis."""
    return Linear(0) if sizes[axis] == 1 else Linear(0, frozenset({(Index(axis), 1)}))


def whole(expression: Expression) -> Linear:
    """Return an expression of integers as a sum."""
    if isinstance(expression, Linear):
        return expression
    if isinstance(expression, Number):
        return Linear(int(expression.value))
    return Linear(0, frozenset({(expression, 1)}))


def plus(a: Linear, b: Linear) -> Linear:
    """Return the sum of two integers."""
    terms = dict(a.terms)
    for atom, coefficient in b.terms:
        terms[atom] = terms.get(atom, 0) + coefficient
    return Linear(a.constant + b.constant, frozenset(term for term in terms.items() if term[1] != 0))


def times(a: Linear, b: Linear) -> Expression:
    """Return the product of two integers."""
    if a.terms and b.terms:
        return Call("times", (a, b))
    if a.terms:
        a, b = b, a
    scaled = frozenset((atom, coefficient * a.constant) for atom, coefficient in b.terms)
    return Linear(a.constant * b.constant, frozenset(term for term in scaled if term[1] != 0))


def never_negative(dim: Dim) -> bool:
    """Return whether a size is at least 0 at all values of the named sizes."""
    return dim >= 0 if isinstance(dim, int) else dim.bounds()[0] >= 0


def least(expression: Linear, sizes: Sequence[Dim]) -> Dim | None:
    """Return a lower bound of an integer, None if there is none."""
    bound = expression.constant
    for atom, coefficient in expression.terms:
        if isinstance(atom, Call):
            if atom.function in ("abs", "mod") and never_negative(coefficient):
                continue
            return None
        if never_negative(coefficient):
            continue
        if not never_negative(-coefficient):
            return None
        bound = bound + coefficient * (sizes[atom.axis] - 1)
    return bound


def call(
    function: str, operands: Iterable[Expression], sizes: Sequence[Dim], settings: tuple[Any, ...] = ()
) -> Expression:
    """Return a function of expressions in its simplest form."""
    operands = tuple(operands)
    if function in _SIMPLER:
        return _SIMPLER[function](operands, sizes)
    return Call(function, operands, settings)


def truth(value: bool) -> Number:
    """Return a truth value."""
    return Number("bool", value)


def _nonnegative(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    """Return ``x ≥ 0``; a comparison of two axes stays, even where the sizes decide it, as it names a window."""
    (x,) = operands
    axes = {atom.axis for atom, _ in x.terms if isinstance(atom, Index)}
    if len(axes) < 2:
        low = least(x, sizes)
        if low is not None and never_negative(low):
            return truth(True)
        high = least(_negative(x), sizes)
        if high is not None and never_negative(high - 1):
            return truth(False)
    return Call("nonnegative", operands)


def _zero(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    (x,) = operands
    if not x.terms and (isinstance(x.constant, int) or never_negative(x.constant - 1)):
        return truth(x.constant == 0)
    low, high = least(x, sizes), least(_negative(x), sizes)
    if any(bound is not None and never_negative(bound - 1) for bound in (low, high)):
        return truth(False)
    return Call("zero", (min(x, _negative(x), key=str),))


def _negative(x: Linear) -> Linear:
    return whole(times(Linear(-1), x))


def _joined(function: str, neutral: bool) -> Callable[[tuple[Any, ...], Sequence[Dim]], Expression]:
    """Return the simplification of a conjunction or disjunction."""

    def joined(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
        parts: dict[Expression, None] = {}
        for operand in operands:
            inner = operand.operands if isinstance(operand, Call) and operand.function == function else (operand,)
            parts.update(dict.fromkeys(inner))
        if truth(not neutral) in parts:
            return truth(not neutral)
        parts.pop(truth(neutral), None)
        if len(parts) < 2:
            return next(iter(parts), truth(neutral))
        return Call(function, tuple(sorted(parts, key=str)))

    return joined


def _not(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    (x,) = operands
    if isinstance(x, Number):
        return truth(not x.value)
    if isinstance(x, Call):
        if x.function == "not":
            return x.operands[0]
        if x.function == "nonnegative":
            return _nonnegative((plus(_negative(whole(x.operands[0])), Linear(-1)),), sizes)
        if x.function in ("and", "or"):
            other = "or" if x.function == "and" else "and"
            return call(other, [_not((part,), sizes) for part in x.operands], sizes)
    return Call("not", operands)


def _where(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    condition: Expression
    a: Expression
    b: Expression
    condition, a, b = operands
    if isinstance(condition, Number):
        return a if condition.value else b
    if a == b:
        return a
    if truth(True) in (a, b) or truth(False) in (a, b):
        hidden = _not((condition,), sizes)
        pairs = (call("and", (condition, a), sizes), call("and", (hidden, b), sizes))
        return call("or", pairs, sizes)
    point = _single_index(condition, sizes)
    if point is not None and _at(a, *point, sizes) == _at(b, *point, sizes):
        return b
    return Call("where", operands)


def _single_index(condition: Expression, sizes: Sequence[Dim]) -> tuple[int, int] | None:
    """Return an axis and the only index along it at which a condition holds."""
    if isinstance(condition, Call) and condition.function == "nonnegative":
        x = whole(condition.operands[0])
        if len(x.terms) == 1 and x.constant == 0:
            ((atom, coefficient),) = x.terms
            if isinstance(atom, Index) and coefficient == -1:
                return atom.axis, 0
    return None


def _at(expression: Expression, axis: int, position: int, sizes: Sequence[Dim]) -> Expression:
    places = {other: index(other, sizes) for other in range(len(sizes))}
    return substituted(expression, {**places, axis: Linear(position)}, sizes)


def _abs(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    x = whole(operands[0])
    low = least(x, sizes)
    if low is not None and never_negative(low):
        return x
    return Call("abs", (min(x, _negative(x), key=str),))


def _quotient(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    """Return ``x // n`` without the terms that ``n`` divides."""
    x, n = whole(operands[0]), operands[1].constant
    inside, outside = _divided(x, n)
    if _within(inside, n, sizes):
        return outside
    return plus(outside, whole(Call("floordiv", (inside, operands[1]))))


def _remainder(operands: tuple[Any, ...], sizes: Sequence[Dim]) -> Expression:
    x, n = whole(operands[0]), operands[1].constant
    inside, _ = _divided(x, n)
    return inside if _within(inside, n, sizes) else Call("mod", (inside, operands[1]))


def _divided(x: Linear, n: Dim) -> tuple[Linear, Linear]:
    """Return x as ``inside + n·outside``."""
    parts = [(Linear(0, frozenset({(atom, 1)})), coefficient) for atom, coefficient in x.terms]
    inside, outside = Linear(0), Linear(0)
    for factor, coefficient in [*parts, (Linear(1), x.constant)]:
        quotient = coefficient // n
        if quotient * n == coefficient:
            outside = plus(outside, whole(times(Linear(quotient), factor)))
        else:
            inside = plus(inside, whole(times(Linear(coefficient), factor)))
    return inside, outside


def _within(x: Linear, n: Dim, sizes: Sequence[Dim]) -> bool:
    low, high = least(x, sizes), least(plus(Linear(n - 1), _negative(x)), sizes)
    return low is not None and high is not None and never_negative(low) and never_negative(high)


_SIMPLER: Mapping[str, Callable[[tuple[Any, ...], Sequence[Dim]], Expression]] = {
    "nonnegative": _nonnegative,
    "zero": _zero,
    "and": _joined("and", True),
    "or": _joined("or", False),
    "not": _not,
    "where": _where,
    "abs": _abs,
    "floordiv": _quotient,
    "mod": _remainder,
    "times": lambda operands, sizes: times(whole(operands[0]), whole(operands[1])),
}


def substituted(expression: Expression, places: Mapping[int, Linear], sizes: Sequence[Dim]) -> Expression:
    """Return an expression with integers for its indices; ``sizes`` bound the indices of the result."""
    if isinstance(expression, Number):
        return expression
    if isinstance(expression, Call):
        operands = [substituted(operand, places, sizes) for operand in expression.operands]
        return call(expression.function, operands, sizes, expression.settings)
    result = Linear(expression.constant)
    for atom, coefficient in expression.terms:
        new = places[atom.axis] if isinstance(atom, Index) else whole(substituted(atom, places, sizes))
        result = plus(result, whole(times(Linear(coefficient), new)))
    return result


def axes_of(expression: Expression) -> set[int]:
    """Return the axes on whose indices an expression depends."""
    if isinstance(expression, Number):
        return set()
    if isinstance(expression, Call):
        return set().union(*map(axes_of, expression.operands))
    return {
        axis for atom, _ in expression.terms for axis in ([atom.axis] if isinstance(atom, Index) else axes_of(atom))
    }


def size_of(expression: Expression) -> int:
    """Return the number of parts of an expression."""
    if isinstance(expression, Number):
        return 1
    if isinstance(expression, Call):
        return 1 + sum(map(size_of, expression.operands))
    return 1 + sum(1 if isinstance(atom, Index) else size_of(atom) for atom, _ in expression.terms)
