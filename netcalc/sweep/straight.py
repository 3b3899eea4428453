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
from netcalc.sweep.blocks import Blocks, Check, Task, ceil_log2

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
#: Points up to which the program is not made anew for their ranges.
_LONG = 1 << 14
#: Programs for ranges that are kept.
_MOST_BLOCKS = 8
#: Points for which columns pay.
_FEW = 12

#: Number of an earlier result, or a constant as its decimal digits.
_Place = str


class _Step(NamedTuple):
    operator: str
    left: _Place
    right: _Place


class _Ranges(dict[_Place, Interval]):
    """Ranges of places, of which those that are not set are constants."""

    def __missing__(self, place: _Place) -> Interval:
        number = _number(place)
        self[place] = number, number
        return self[place]


class Straight:
    """A program that computes ``results`` from named integers where all ``claims`` hold.

    Raises:
        ValueError: a size or a claim has a form that is no integer arithmetic.
    """

    def __init__(self, names: Sequence[str], claims: Iterable[Assumption], results: Sequence[Dim]) -> None:
        self.names = tuple(names)
        self._steps: list[_Step] = []
        self._known: dict[Any, _Place] = {name: name for name in names}
        self._checks: list[Check] = []
        for claim in claims:
            left, right = self._dim(_integer(claim.left)), self._dim(_integer(claim.right))
            self._checks.append(Check(len(self._steps), claim.relation, left, right))
        self._results = [self._dim(result) for result in results]
        self._scalar: Callable[..., tuple[int, ...] | None] | None = None
        self._arrays: Callable[..., Any] | None = None
        self._blocks: dict[tuple[Check, ...], Blocks] = {}
        self._widest: _Ranges | None = None  # for all columns so far, unless they need Python's integers

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
        if size <= _FEW:
            return self._point_by_point(columns, size)
        ranges = self._ranges(columns)
        if ranges is None:
            return self._block([column.astype(object) for column in columns], size)
        if size <= _LONG:
            return self._block(columns, size)
        return self._blocks_for(ranges).over(columns, size)

    def _blocks_for(self, ranges: _Ranges) -> Blocks:
        """Return the program without what ranges of the columns decide."""
        checks = [
            Check(number, "!=", right, "0")
            for number, (operator, _, right) in enumerate(self._steps)
            if operator == "//" and ranges[right][0] <= 0 <= ranges[right][1]
        ]
        checks += [check for check in self._checks if not _is_certain(check, ranges)]
        if tuple(checks) not in self._blocks:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._blocks.clear()
            self._blocks[tuple(checks)] = Blocks(Task(self.names, self._steps, checks, self._results))
        return self._blocks[tuple(checks)]

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
            scope = {"minimum": np.minimum, "maximum": np.maximum, "over": _over, "ceil_log2": ceil_log2}
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

    def _ranges(self, columns: Sequence[Any]) -> _Ranges | None:
        """Return ranges of all places for columns, maybe wider ones; None if one does not lie in int64."""
        spans = [(int(column.min()), int(column.max())) for column in columns]
        if self._widest is not None:
            earlier = [self._widest[name] for name in self.names]
            if all(least <= low and high <= most for (low, high), (least, most) in zip(spans, earlier, strict=True)):
                return self._widest
            both = [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(spans, earlier, strict=True)]
            self._widest = self._ranges_of(both)
        if self._widest is None:
            self._widest = self._ranges_of(spans)
        return self._widest

    def _ranges_of(self, spans: Iterable[Interval]) -> _Ranges | None:
        ranges = _Ranges(zip(self.names, spans, strict=True))
        for number, (operator, left, right) in enumerate(self._steps):
            ranges[f"t{number}"] = _RANGES[operator](ranges[left], ranges[right])
        for result in self._results:
            ranges[result]  # which may be a constant
        return ranges if all(low >= _LEAST and high <= _MOST for low, high in ranges.values()) else None

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


def _is_certain(check: Check, ranges: _Ranges) -> bool:
    """Return True if a claim holds for all numbers in the ranges of its sides."""
    (least, most), (low, high) = ranges[check.left], ranges[check.right]
    certain = {
        "<": most < low,
        "<=": most <= low,
        ">": least > high,
        ">=": least >= high,
        "==": least == most == low == high,
        "!=": most < low or least > high,
    }
    return certain[check.relation]


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
