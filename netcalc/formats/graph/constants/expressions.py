"""Elements of constant tensors as expressions of their indices, with symbolic sizes.

An integer is a size of :mod:`netcalc.dims`, in which the index along an axis is a named size below the axis's.
An element of another type is a number or a call.  A call may be an integer too, and is then an atom of sizes.  The
functions here bring them into a common form, so that equal expressions are mostly equal objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from netcalc.dims import Dim, Poly, Symbol, bounds_of, substitute, symbol

#: What the names of indices begin with, and no other size; the number of the axis follows.
_INDEX = "#"
#: What every call depends on.
_ELEMENT = Symbol(_INDEX, None)


class Call(NamedTuple):
    """A function of expressions; ``settings`` are further arguments.

    The names of functions of floating-point numbers, which are computed as operations do, begin with ``@``.
    An integer may have it as an atom.
    """

    function: str
    operands: tuple[Expression, ...]
    settings: tuple[Any, ...] = ()

    def at(self, sizes: Mapping[str, int]) -> int:
        """Refuse to compute: calls are compared only."""
        raise NotImplementedError

    def symbols(self) -> set[Symbol]:
        """Return the indices and sizes that occur, and a symbol for the call itself."""
        return {_ELEMENT}.union(*map(_symbols, self.operands))

    def bounds(self) -> tuple[float, float]:
        """Return the bounds of the integer, of which nothing is known."""
        return -math.inf, math.inf

    def substituted(self, sizes: Mapping[str, Dim]) -> Dim:
        """Return the integer with the named sizes replaced."""
        return whole(_replaced(self, sizes))

    @property
    def weight(self) -> int:
        """Number of parts."""
        return size_of(self)


class Number(NamedTuple):
    """A floating-point number, or a truth value (``kind`` is float or bool)."""

    kind: str
    value: float


Expression: TypeAlias = Call | Number | Dim


def index(axis: int, sizes: Sequence[Dim]) -> Dim:
    """Return the index along an axis."""
    return 0 if sizes[axis] == 1 else _index(axis, sizes[axis])


@lru_cache(256)
def _index(axis: int, size: Dim) -> Dim:
    return symbol(f"{_INDEX}{axis}", least=0, most=size - 1)


def whole(expression: Expression) -> Dim:
    """Return an expression of integers as a size."""
    if isinstance(expression, Number):
        return int(expression.value)
    return Poly({((expression, 1),): 1}) if isinstance(expression, Call) else expression


def number_of(expression: Expression | None) -> float | int | bool | None:
    """Return the number that an expression is; None if there is none."""
    if isinstance(expression, Number):
        return bool(expression.value) if expression.kind == "bool" else expression.value
    return expression if isinstance(expression, int) else None


def is_size(expression: Expression) -> bool:
    """Report that an expression is an integer that is the same for all elements, with or without symbolic sizes."""
    return isinstance(expression, (int, Poly)) and not any(x.name.startswith(_INDEX) for x in _symbols(expression))


def never_negative(dim: Dim) -> bool:
    """Return whether a size is at least 0 at all values of the named sizes."""
    return bounds_of(dim)[0] >= 0


class Progression(NamedTuple):
    """The integers ``start + step · index`` along an axis."""

    axis: int
    start: Dim
    step: Dim


def progression(expression: Expression | None) -> Progression | None:
    """Return the progression that an expression is, None if it is none."""
    variables = [symbol for symbol in _symbols(expression) if symbol.name.startswith(_INDEX)]
    if not isinstance(expression, Poly) or len(variables) != 1 or variables == [_ELEMENT]:
        return None
    start, after = (substitute(expression, {variables[0].name: place}) for place in (0, 1))
    is_linear = expression == start + (after - start) * Poly({((variables[0], 1),): 1})
    return Progression(axes_of(expression).pop(), start, after - start) if is_linear else None


def call(function: str, operands: Iterable[Expression], settings: tuple[Any, ...] = ()) -> Expression:
    """Return a function of expressions in its simplest form."""
    operands = tuple(operands)
    return _SIMPLER[function](*operands) if function in _SIMPLER else Call(function, operands, settings)


def truth(value: bool) -> Number:
    """Return a truth value."""
    return Number("bool", value)


def _nonnegative(x: Any) -> Expression:
    """Return ``x ≥ 0``; a comparison of two axes stays, even where the sizes decide it, as it names a window."""
    if len(axes_of(x)) < 2:
        low, high = bounds_of(x)
        if low >= 0 or high < 0:
            return truth(low >= 0)
    return Call("nonnegative", (x,))


def _zero(x: Any) -> Expression:
    low, high = bounds_of(x)
    if low > 0 or high < 0 or isinstance(x, int):
        return truth(x == 0)
    return Call("zero", (min(x, -x, key=str),))


def _junction(function: str, neutral: bool) -> Callable[..., Expression]:
    """Return the simplification of a conjunction or disjunction."""

    def joined(*operands: Expression) -> Expression:
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


def _not(x: Expression) -> Expression:
    if isinstance(x, Number):
        return truth(not x.value)
    if isinstance(x, Call):
        if x.function == "not":
            return x.operands[0]
        if x.function == "nonnegative":
            return _nonnegative(-whole(x.operands[0]) - 1)
        if x.function in ("and", "or"):
            return call("or" if x.function == "and" else "and", map(_not, x.operands))
    return Call("not", (x,))


def _where(condition: Expression, a: Expression, b: Expression) -> Expression:
    if isinstance(condition, Number):
        return a if condition.value else b
    if a == b:
        return a
    if truth(True) in (a, b) or truth(False) in (a, b):
        return call("or", (call("and", (condition, a)), call("and", (_not(condition), b))))
    if isinstance(condition, Call) and condition.function == "nonnegative":
        x = whole(condition.operands[0])  # −i ≥ 0 holds at 0 only
        point = progression(x) if bounds_of(x)[1] == 0 else None
        if point is not None and point[1:] == (0, -1) and _at_first(a, point.axis) == _at_first(b, point.axis):
            return b
    return Call("where", (condition, a, b))


def _at_first(expression: Expression, axis: int) -> Expression:
    return substituted(expression, {axis: 0})


_SIMPLER: Mapping[str, Callable[..., Expression]] = {
    "nonnegative": _nonnegative,
    "zero": _zero,
    "and": _junction("and", True),
    "or": _junction("or", False),
    "not": _not,
    "where": _where,
}


def substituted(expression: Expression, places: Mapping[int, Dim]) -> Expression:
    """Return an expression with integers for its indices; an axis without one keeps its index."""
    return _replaced(expression, {f"{_INDEX}{axis}": place for axis, place in places.items()})


def _replaced(expression: Expression, sizes: Mapping[str, Dim]) -> Expression:
    if isinstance(expression, Call):
        return call(expression.function, [_replaced(part, sizes) for part in expression.operands], expression.settings)
    return expression if isinstance(expression, Number) else substitute(expression, sizes)


def axes_of(expression: Expression) -> set[int]:
    """Return the axes on whose indices an expression depends."""
    indices = (symbol.name for symbol in _symbols(expression) if symbol.name.startswith(_INDEX) and symbol != _ELEMENT)
    return {int(name.removeprefix(_INDEX)) for name in indices}


def _symbols(expression: Expression | None) -> set[Symbol]:
    return expression.symbols() if isinstance(expression, (Call, Poly)) else set()


def size_of(expression: Expression) -> int:
    """Return the number of parts of an expression."""
    if isinstance(expression, Call):
        return 1 + sum(map(size_of, expression.operands))
    return expression.weight if isinstance(expression, Poly) else 1
