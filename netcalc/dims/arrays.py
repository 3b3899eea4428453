"""Values of sizes at arrays of integers, element by element.

Arrays of NumPy are used through their operators and methods, so that this module imports nothing.  An array of int64
wraps around silently where a number does not fit.  Therefore the range of every intermediate result is computed first,
from the ranges of the given arrays; where a result may leave int64, arrays of Python integers are computed instead.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import intervals
from netcalc.dims.atoms import Atom, Call, CeilLog2, Operand, Symbol, Symbolic
from netcalc.dims.intervals import Interval

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def value_at_arrays(dim: Symbolic, sizes: Mapping[str, Any]) -> Any:
    """Return the value of ``dim`` at sizes of which some are arrays; they are broadcast against each other.

    The elements of the result are int64 if that holds every intermediate result at all elements, and Python integers
    (the element type object) otherwise.  The result is a Python integer if all sizes that occur are numbers.

    Raises:
        NetcalcError: E502 a size that is neither an integer nor an array of integers, or no multiple of the number of
            which it should be one.
        UndecidedError: a size is missing and has no default.
        ZeroDivisionError: a divisor is zero.
    """
    symbols = dim.symbols()
    named = {symbol.name for symbol in symbols}
    accepted = {name: _as_integers(name, size) for name, size in sizes.items() if name in named and size is not None}
    numbers = {name: size for name, size in accepted.items() if isinstance(size, int)}
    arrays = {name: size for name, size in accepted.items() if name not in numbers}
    if not arrays:
        return dim.at(numbers)
    fixed = {symbol: symbol.at(numbers) for symbol in symbols if symbol.name not in arrays}
    try:
        ranges: dict[Symbol, Interval] = {symbol: _in_int64((size, size)) for symbol, size in fixed.items()}
        for symbol in symbols - set(fixed):
            low, high = _in_int64(_range_of_array(arrays[symbol.name]))
            ranges[symbol] = low // symbol.multiple, high // symbol.multiple
        _evaluate(dim, ranges, _RANGES)
        dtype = "int64"
    except OverflowError:
        dtype = "object"
    arrays = {name: array.astype(dtype) if array.dtype != dtype else array for name, array in arrays.items()}
    values = {symbol: _divided_by_multiple(symbol, arrays[symbol.name]) for symbol in symbols - set(fixed)}
    return _evaluate(dim, {**values, **fixed}, _ARRAYS)


def _as_integers(name: str, size: Any) -> Any:
    """Return a given size as a Python integer or an array."""
    if type(size) is int:
        return size
    dtype = getattr(size, "dtype", None)
    kind = getattr(dtype, "kind", "i")
    if not isinstance(size, bool) and kind in "iu":
        try:
            return operator.index(size)
        except TypeError:
            if hasattr(size, "astype"):
                return size
    if kind == "O" and all(type(element) is int for element in size.flat):
        return size if size.ndim else size.item()
    described = (
        type(size).__name__ if dtype is None else f"an array of {dtype}" if getattr(size, "ndim", 0) else f"{dtype}"
    )
    raise NetcalcError(
        Diagnostic("E502", f"the size {name!r} should be an integer or an array of integers, not {described}")
    )


def _divided_by_multiple(symbol: Symbol, array: Any) -> Any:
    """Return the array divided by the number of which the size is a multiple."""
    if symbol.multiple == 1:
        return array
    wrong = array % symbol.multiple != 0
    if wrong.any():
        raise NetcalcError(Diagnostic("E502", f"{symbol.name} {symbol.refusal(int(array[wrong][0]))}"))
    return array // symbol.multiple


class _Arithmetic(NamedTuple):
    """Operations on values of one kind; ``number`` makes such a value of an integer."""

    number: Callable[[int], Any]
    plus: Callable[[Any, Any], Any]
    times: Callable[[Any, Any], Any]
    over: Callable[[Any, Any], Any]
    least: Callable[[Any, Any], Any]
    most: Callable[[Any, Any], Any]
    log2: Callable[[Any], Any]


def _evaluate(dim: Operand, values: Mapping[Symbol, Any], arithmetic: _Arithmetic) -> Any:
    """Return the value of a size at values of its symbols."""
    results: dict[Atom, Any] = {}
    results.update(values.items())

    def of(operand: Operand) -> Any:
        if isinstance(operand, int):
            return arithmetic.number(operand)
        terms = []
        for monomial, coefficient in operand.monomials():
            factors = [of_atom(atom) for atom, power in monomial for _ in range(power)]
            if coefficient != 1 or not factors:
                factors.append(arithmetic.number(coefficient))
            terms.append(reduce(arithmetic.times, factors))
        return reduce(arithmetic.plus, terms)

    def of_atom(atom: Atom) -> Any:
        if atom not in results:
            results[atom] = _value_of_call(atom, of, arithmetic)
        return results[atom]

    return of(dim)


def _value_of_call(atom: Atom, of: Callable[[Operand], Any], arithmetic: _Arithmetic) -> Any:
    """Return the value of a function of sizes."""
    if isinstance(atom, CeilLog2):
        return arithmetic.log2(of(atom.size))
    assert isinstance(atom, Call)
    functions = {"//": arithmetic.over, "min": arithmetic.least, "max": arithmetic.most}
    return reduce(functions[atom.function], map(of, atom.operands))


# -- ranges -----------------------------------------------------------------------------------------


def _range_of_array(array: Any) -> tuple[int, int]:
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def _in_int64(bounds: Any) -> Any:
    """Return bounds of a result; OverflowError if they leave int64."""
    low, high = bounds
    if low < _LEAST or high > _MOST:
        raise OverflowError
    return bounds


def _range_over(a: Interval, b: Interval) -> Interval:
    if b[0] > 0:
        return intervals.over(a, b)
    most = max(abs(bound) for bound in a)
    return -most, most


def _range_log2(size: tuple[int, int]) -> Interval:
    most = max(abs(bound - 1) for bound in size)
    _in_int64((-most, most))  # as the absolute value is computed too
    return 0, most.bit_length()


_RANGES = _Arithmetic(
    number=lambda number: _in_int64((number, number)),
    plus=lambda a, b: _in_int64(intervals.plus(a, b)),
    times=lambda a, b: _in_int64(intervals.times(a, b)),
    over=lambda a, b: _in_int64(_range_over(a, b)),
    least=lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    most=lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    log2=_range_log2,
)


# -- arrays -----------------------------------------------------------------------------------------


def _array_over(a: Any, b: Any) -> Any:
    zero = b == 0
    if zero if isinstance(b, int) else zero.any():
        raise ZeroDivisionError("division of a size by zero")
    return a // b


def _array_least(a: Any, b: Any) -> Any:
    if isinstance(a, int):
        a, b = b, a
    return min(a, b) if isinstance(a, int) else a.clip(None, b)


def _array_most(a: Any, b: Any) -> Any:
    if isinstance(a, int):
        a, b = b, a
    return max(a, b) if isinstance(a, int) else a.clip(b, None)


def _array_log2(size: Any) -> Any:
    """Return ⌈log₂ size⌉: the number of bits of the absolute value of size − 1."""
    if isinstance(size, int):
        return (size - 1).bit_length()
    most, rest = max(map(abs, _range_of_array(size - 1))), abs(size - 1)
    bits = [(rest >= 1 << bit).astype(size.dtype) for bit in range(max(1, most.bit_length()))]
    return reduce(operator.add, bits)


_ARRAYS = _Arithmetic(
    lambda number: number, operator.add, operator.mul, _array_over, _array_least, _array_most, _array_log2
)
