"""Sizes as straight-line programs, which are computed for one point or for whole columns.

A program has claims, which have to hold, and results.  Columns are int64 where the ranges of all intermediate results,
from those of the columns, lie in int64; Python integers otherwise.  A point at which a divisor is zero fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.dims import Assumption, Dim, intervals
from netcalc.dims.atoms import Atom, Call, CeilLog2, Symbol
from netcalc.dims.intervals import Interval
from netcalc.dims.terms import Monomial

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
#: Points that are computed at a time, so that a column fits the cache of a core.
_BLOCK = 1 << 14
#: Points for which columns pay.
_FEW = 12

#: Number of an earlier result, or a constant as its decimal digits.
_Place = str


class _Step(NamedTuple):
    operator: str
    left: _Place
    right: _Place


class Straight:
    """A program that computes ``results`` from named integers where all ``claims`` hold.

    Raises:
        ValueError: a size or a claim has a form that is no integer arithmetic.
    """

    def __init__(self, names: Sequence[str], claims: Iterable[Assumption], results: Sequence[Dim]) -> None:
        self.names = tuple(names)
        self._steps: list[_Step] = []
        self._known: dict[Any, _Place] = {name: name for name in names}
        self._checks: list[tuple[int, str, _Place, _Place]] = []  # number of steps before, relation, sides
        for claim in claims:
            left, right = self._dim(_integer(claim.left)), self._dim(_integer(claim.right))
            self._checks.append((len(self._steps), claim.relation, left, right))
        self._results = [self._dim(result) for result in results]
        self._scalar: Callable[..., tuple[int, ...] | None] | None = None
        self._arrays: Callable[..., Any] | None = None

    # -- one point ----------------------------------------------------------------------------------

    def at(self, values: Sequence[int]) -> tuple[int, ...] | None:
        """Return the results at values of the names; None if a claim fails."""
        if self._scalar is None:
            self._scalar = _function(self._scalar_source(), {})
        try:
            return self._scalar(*values)
        except ZeroDivisionError:
            return None

    def _scalar_source(self) -> str:
        lines, done = [], 0
        for number, relation, left, right in self._checks:
            lines += self._lines(done, number)
            lines.append(f"if not {left} {relation} {right}: return None")
            done = number
        lines += self._lines(done, len(self._steps))
        return _text(self.names, [*lines, f"return ({''.join(f'{place}, ' for place in self._results)})"])

    # -- columns ------------------------------------------------------------------------------------

    def over(self, columns: Sequence[Any], size: int) -> tuple[Any, list[Any]]:
        """Return a column of truth values, and a column for each result, which counts where that is True.

        Args:
            columns: an array of int64 for each name.
            size: their length.
        """
        import numpy as np

        if size <= _FEW:
            return self._point_by_point(columns, size)
        if not self._fits(columns):
            columns = [column.astype(object) for column in columns]
            return self._block(columns, size)
        if size <= _BLOCK:
            return self._block(columns, size)
        held = np.empty(size, bool)
        results = [np.empty(size, np.int64) for _ in self._results]
        for start in range(0, size, _BLOCK):
            part = slice(start, start + _BLOCK)
            holds, found = self._block([column[part] for column in columns], len(held[part]))
            held[part] = holds
            for whole, piece in zip(results, found, strict=True):
                whole[part] = piece
        return held, results

    def _point_by_point(self, columns: Sequence[Any], size: int) -> tuple[Any, list[Any]]:
        import numpy as np

        held, rows = np.zeros(size, bool), []
        none = (0,) * len(self._results)
        for index, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            row = self.at(values)
            held[index] = row is not None
            rows.append(none if row is None else row)
        return held, [_column(values) for values in zip(*rows, strict=True)]

    def _block(self, columns: Sequence[Any], size: int) -> tuple[Any, list[Any]]:
        import numpy as np

        if self._arrays is None:
            scope = {"minimum": np.minimum, "maximum": np.maximum, "over": _over, "ceil_log2": _ceil_log2}
            self._arrays = _function(self._array_source(), scope)
        valid = [np.True_]
        holds, found = self._arrays(valid, *columns)
        held = np.broadcast_to(holds, size)
        if valid[0] is not np.True_:
            held = held & valid[0]
        return held, [np.broadcast_to(np.asarray(one), size) for one in found]

    def _array_source(self) -> str:
        conditions = [f"({left} {relation} {right})" for _, relation, left, right in self._checks]
        results = "".join(f"{place}, " for place in self._results)
        last = f"return {' & '.join(conditions) or 'True'}, ({results})"
        return _text(("valid", *self.names), [*self._lines(0, len(self._steps), over="over"), last])

    def _fits(self, columns: Sequence[Any]) -> bool:
        """Return True if all intermediate results lie in int64."""
        ranges: dict[_Place, Interval] = {
            name: (int(column.min()), int(column.max())) for name, column in zip(self.names, columns, strict=True)
        }

        def of(place: _Place) -> Interval:
            return ranges[place] if place in ranges else (_number(place), _number(place))

        for number, (operator, left, right) in enumerate(self._steps):
            low, high = ranges[f"t{number}"] = _RANGES[operator](of(left), of(right))
            if not (low >= _LEAST and high <= _MOST):
                return False
        constants = [place for step in self._steps for place in step[1:] if place not in ranges]
        return all(_LEAST <= _number(place) <= _MOST for place in constants)

    # -- steps --------------------------------------------------------------------------------------

    def _lines(self, start: int, stop: int, over: str = "") -> list[str]:
        lines = []
        for number in range(start, stop):
            operator, left, right = self._steps[number]
            if operator in "+*":
                text = f"{left} {operator} {right}"
            elif operator == "//":
                constant = right.isdecimal() and right != "0"
                text = f"{over}(valid, {left}, {right})" if over and not constant else f"{left} // {right}"
            elif operator == "log2":
                text = f"ceil_log2({left})" if over else f"({left} - 1).bit_length()"
            else:
                text = f"{operator}imum({left}, {right})" if over else f"{operator}({left}, {right})"
            lines.append(f"t{number} = {text}")
        return lines

    def _step(self, operator: str, left: _Place, right: _Place) -> _Place:
        if operator in ("+", "*") and right < left:
            left, right = right, left
        step = _Step(operator, left, right)
        if step not in self._known:
            self._steps.append(step)
            self._known[step] = f"t{len(self._steps) - 1}"
        return self._known[step]

    def _dim(self, dim: Dim) -> _Place:
        if isinstance(dim, int):
            return str(dim) if dim >= 0 else f"({dim})"
        if dim not in self._known:
            self._known[dim] = self._sum(tuple(dim.monomials()))
        return self._known[dim]

    def _sum(self, terms: tuple[tuple[Monomial, int], ...]) -> _Place:
        """Return the place of a sum of terms, the atom that most of them share taken out."""
        if terms in self._known:
            return self._known[terms]
        if len(terms) == 1:
            place = self._term(*terms[0])
        else:
            counted = Counter(factor for monomial, _ in terms for factor, _ in monomial)
            factor, number = counted.most_common(1)[0]
            if number < 2:
                place = self._term(*terms[0])
                for term in terms[1:]:
                    place = self._step("+", place, self._term(*term))
            else:
                shared = tuple((_without(m, factor), c) for m, c in terms if any(a == factor for a, _ in m))
                others = tuple((m, c) for m, c in terms if all(a != factor for a, _ in m))
                place = self._step("*", self._atom(factor), self._sum(shared))
                if others:
                    place = self._step("+", place, self._sum(others))
        self._known[terms] = place
        return place

    def _term(self, monomial: Monomial, coefficient: int) -> _Place:
        place = None if coefficient == 1 and monomial else self._dim(coefficient)
        for factor, power in monomial:
            for _ in range(power):
                atom = self._atom(factor)
                place = atom if place is None else self._step("*", place, atom)
        assert place is not None
        return place

    def _atom(self, atom: Atom) -> _Place:
        if isinstance(atom, Symbol) and atom.multiple == 1 and atom.name in self._known:
            return atom.name
        if isinstance(atom, CeilLog2):
            return self._step("log2", self._dim(_integer(atom.size)), "0")
        if isinstance(atom, Call):
            first, *others = [self._dim(_integer(operand)) for operand in atom.operands]
            for other in others:
                first = self._step(atom.function, first, other)
            return first
        raise ValueError(f"{atom} is no integer arithmetic of {', '.join(self.names)}")


def _integer(operand: Any) -> Dim:
    from netcalc.dims import Poly

    if isinstance(operand, int) and not isinstance(operand, bool):
        return int(operand)  # limits are integers of a class of their own
    if isinstance(operand, Poly):
        return operand
    raise ValueError(f"{operand} is no integer")


def _number(place: _Place) -> int:
    return int(place.strip("()"))


def _without(monomial: Monomial, factor: Atom) -> Monomial:
    """Return a product divided by one of its factors."""
    powers = ((atom, power - (atom == factor)) for atom, power in monomial)
    return tuple((atom, power) for atom, power in powers if power)


def _function(source: str, scope: Mapping[str, Any]) -> Callable[..., Any]:
    names = dict(scope)
    exec(source, names)
    return names["function"]  # type: ignore[no-any-return]


def _text(names: Iterable[str], lines: Iterable[str]) -> str:
    return f"def function({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)


def _column(values: tuple[int, ...]) -> Any:
    import numpy as np

    fits = all(_LEAST <= value <= _MOST for value in values)
    return np.array(values, np.int64 if fits else object)


def _over(valid: list[Any], left: Any, right: Any) -> Any:
    """Return quotients; where the divisor is zero, ``valid`` becomes False."""
    import numpy as np

    zero = np.equal(right, 0)
    if zero.any():
        valid[0] = valid[0] & ~zero
        right = np.where(zero, 1, right)
    return left // right


def _ceil_log2(size: Any) -> Any:
    import numpy as np

    rest = np.abs(size - 1)
    most = int(np.max(rest)).bit_length()
    result = np.zeros_like(rest)
    for bit in range(most):
        result = result + (rest >= 1 << bit)
    return result


def _range_over(a: Interval, b: Interval) -> Interval:
    if b[0] > 0:
        return intervals.over(a, b)
    most = max(abs(bound) for bound in a)
    return -most, most


def _range_log2(a: Interval, _: Interval) -> Interval:
    most = max(abs(int(bound) - 1) for bound in a)
    return -most, max(most, most.bit_length())  # the distance from 1 is computed too


_RANGES: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "+": intervals.plus,
    "*": intervals.times,
    "//": _range_over,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "log2": _range_log2,
}
