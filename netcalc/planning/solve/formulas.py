"""Closed forms of figures over unknowns: their values, and bounds of them over ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from netcalc.dims import Assumption, Dim, Poly, bounds_of, substitute, symbol
from netcalc.dims.atoms import Atom, Call, CeilLog2, Operand, Symbol
from netcalc.dims.formulas import formula
from netcalc.dims.intervals import Interval, log2, over, plus, times
from netcalc.dims.order import RELATIONS
from netcalc.dims.polynomial import as_dim
from netcalc.planning.solve.axes import Axis

#: Least and greatest value of each unknown.
Corners: TypeAlias = Sequence[tuple[int, int]]


def symbols_of(axes: Sequence[Axis]) -> dict[str, Dim]:
    """Return a symbol for each unknown with the limits and the divisor of its values."""
    return {
        axis.name: symbol(axis.name, None, axis.values[0], None if axis.is_endless else axis.values[-1], axis.divisor)
        for axis in axes
    }


class ClosedForm:
    """A figure as a function of the unknowns.

    Attributes:
        dim: the formula.
        directions: for each unknown 1 if the figure never falls as it grows, −1 if it never rises, 0 if it does not
            depend on it, and None if none of these is proved.
    """

    def __init__(self, dim: Dim, axes: Sequence[Axis], symbols: Mapping[str, Dim]) -> None:
        self.dim = substitute(dim, symbols)
        self._names = [axis.name for axis in axes]
        self.directions = [_direction(self.dim, axis) for axis in axes]
        self._at = _function(self.dim, self._names)
        self.is_monotone = None not in self.directions

    def at(self, values: Sequence[int]) -> int:
        """Return the figure at values of the unknowns."""
        return self._at(*values)

    def least(self, corners: Corners) -> float | int:
        """Return a number that the figure is never below."""
        if self.is_monotone:
            pairs = zip(corners, self.directions, strict=True)
            return self._end((high if direction == -1 else low for (low, high), direction in pairs), -math.inf)
        return self._interval(corners, 1)[0]

    def most(self, corners: Corners) -> float | int:
        """Return a number that the figure is never above."""
        if self.is_monotone:
            pairs = zip(corners, self.directions, strict=True)
            return self._end((low if direction == -1 else high for (low, high), direction in pairs), math.inf)
        return self._interval(corners, -1)[1]

    def _end(self, values: Iterable[int], unknown: float) -> float | int:
        try:
            return self._at(*values)
        except ZeroDivisionError:
            return unknown

    def _interval(self, corners: Corners, sign: int) -> Interval:
        """Return bounds, where unknowns with a direction have the end that makes the figure least (or greatest, −1)."""
        ends = {}
        for name, (low, high), direction in zip(self._names, corners, self.directions, strict=True):
            if direction is None:
                ends[name] = low, high
            else:
                end = low if direction * sign >= 0 else high
                ends[name] = end, end
        return interval_of(self.dim, ends)


class Claim(NamedTuple):
    """A relation between sizes that closed forms rely on.

    Attributes:
        claim: the relation.
        required: True if the spec refuses what does not meet it.
        holds: the relation as a function of the unknowns.
    """

    claim: Assumption
    required: bool
    holds: Callable[..., bool]

    def within(self, names: Sequence[str], corners: Corners) -> bool | None:
        """Return if it holds for all values, or for none; None if that is open."""
        left, right = self.claim.left, self.claim.right
        if not isinstance(left, (int, Poly)) or not isinstance(right, (int, Poly)):
            return None
        return self.claim.within(interval_of(left - right, dict(zip(names, corners, strict=True))))


def claim_of(claim: Assumption, required: bool, axes: Sequence[Axis], symbols: Mapping[str, Dim]) -> Claim | bool:
    """Return a relation over the unknowns; True or False if it holds for all of their values, or for none."""
    names = [axis.name for axis in axes]
    left, right = claim.left, claim.right
    if isinstance(left, (int, Poly)) and isinstance(right, (int, Poly)):
        left, right = substitute(left, symbols), substitute(right, symbols)
        narrowed = Assumption(left, claim.relation, right)
        decided = narrowed.within(bounds_of(left - right))
        if decided is not None:
            return decided
        difference, relation = _function(left - right, names), claim.relation
        return Claim(narrowed, required, _relation(difference, relation))
    return Claim(claim, required, lambda *values: claim.holds(dict(zip(names, values, strict=True))))


def _relation(difference: Callable[..., int], relation: str) -> Callable[..., bool]:
    """Return the function of values that compares a difference with 0; False where it has no value."""
    compare = RELATIONS[relation]

    def holds(*values: int) -> bool:
        try:
            return compare(difference(*values), 0)
        except ZeroDivisionError:
            return False

    return holds


def interval_of(dim: Operand, ends: Mapping[str, tuple[int, int]]) -> Interval:
    """Return bounds of a size whose names are within ends; a name without ends is within its limits."""
    if isinstance(dim, (int, float)):
        return dim, dim
    sums: Interval = (0, 0)
    for monomial, coefficient in dim.monomials():
        term: Interval = (coefficient, coefficient)
        for atom, power in monomial:
            bounds = _atom_interval(atom, ends)
            if power > 1 and bounds[0] >= 0:
                bounds, power = (_power(bounds[0], power), _power(bounds[1], power)), 1
            for _ in range(power):
                term = times(term, bounds)
        sums = plus(sums, term)
    return sums


def _power(value: float | int, power: int) -> float | int:
    return value if isinstance(value, float) else value**power


def _atom_interval(atom: Atom, ends: Mapping[str, tuple[int, int]]) -> Interval:
    if isinstance(atom, Symbol):
        if atom.name not in ends:
            return atom.bounds()
        low, high = ends[atom.name]
        return low // atom.multiple, high // atom.multiple
    if isinstance(atom, CeilLog2):
        return log2(interval_of(atom.size, ends))
    if isinstance(atom, Call):
        operands = [interval_of(operand, ends) for operand in atom.operands]
        if atom.function == "//":
            return over(operands[0], operands[1])
        pick = min if atom.function == "min" else max
        return pick(low for low, _ in operands), pick(high for _, high in operands)
    return atom.bounds()


def _function(dim: Dim, names: Sequence[str]) -> Callable[..., int]:
    """Return a size as a function of values of names, compiled where it has a form in Python."""
    if isinstance(dim, int):
        return lambda *values: dim
    try:
        if {"min", "max"} & {*names}:
            raise ValueError("a name is that of a function")
        text = formula(dim, "python")
        # the text consists of names of sizes, whole numbers, operators, min and max
        return eval(f"lambda {', '.join(names)}: {text}")  # type: ignore[no-any-return]
    except (ValueError, SyntaxError):
        return lambda *values: dim.at(dict(zip(names, values, strict=True)))


def _direction(dim: Dim, axis: Axis) -> int | None:
    """Return the direction in which a size changes with an unknown; None if it has none that is proved."""
    direction = _by_form(dim, axis.name)
    if direction is not None or isinstance(dim, int):
        return direction
    step = axis.divisor
    moved = substitute(dim, {axis.name: _moved(dim, axis.name, step)})
    low, high = bounds_of(moved - dim)
    return 1 if low >= 0 else -1 if high <= 0 else None


def _moved(dim: Poly, name: str, step: int) -> Dim:
    (own,) = (one for one in dim.symbols() if one.name == name)
    # the next value is beyond the limits of the greatest one
    most = None if own.most is None else own.most
    return symbol(name, None, own.least, as_dim(most) if most is not None else None, own.multiple) + step


def _by_form(dim: Operand, name: str) -> int | None:
    """Return the direction of a sum of terms that all change in one, each a product of atoms of at least 0."""
    if isinstance(dim, int):
        return 0
    found = 0
    for monomial, coefficient in dim.monomials():
        direction = 0
        for atom, _ in monomial:
            own = _atom_direction(atom, name)
            if own is None or own * direction < 0:
                return None
            direction = direction or own
        if direction:
            if any(atom.bounds()[0] < 0 for atom, _ in monomial):
                return None
            direction = direction if coefficient > 0 else -direction
            if direction * found < 0:
                return None
            found = direction
    return found


def _atom_direction(atom: Atom, name: str) -> int | None:
    if not any(one.name == name for one in atom.symbols()):
        return 0
    if isinstance(atom, Symbol):
        return 1
    if isinstance(atom, CeilLog2):
        return _by_form(atom.size, name)
    if not isinstance(atom, Call):
        return None
    directions = [_by_form(operand, name) for operand in atom.operands]
    if atom.function == "//":
        dividend, divisor = directions
        if bounds_of(atom.operands[1])[0] <= 0:
            return None
        if divisor == 0:
            return dividend
        return -divisor if dividend == 0 and divisor is not None and bounds_of(atom.operands[0])[0] >= 0 else None
    known = {direction for direction in directions if direction != 0}
    return None if None in known or len(known) > 1 else known.pop()
