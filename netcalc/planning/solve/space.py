"""The sizes among which an answer is sought: figures at single sizes, and bounds of them over ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Assumption, Dim, Poly, assumed_divisors, assumptions, bounds_of, claimed, symbolic_values
from netcalc.dims.functions import assumed_multiples
from netcalc.ir import Program
from netcalc.options import Phase
from netcalc.planning.solve.axes import Axis
from netcalc.planning.solve.conditions import Limit, Number
from netcalc.planning.solve.formulas import Claim, ClosedForm, Corners, claim_of, symbols_of
from netcalc.planning.solve.points import COSTS, Counts, Point, Points, cost_in
from netcalc.request import Request
from netcalc.spec.evaluate import evaluate_requirement
from netcalc.spec.settings import Settings

#: The first and the last place of the values of each unknown.
Box: TypeAlias = tuple[tuple[int, int], ...]
#: Networks outside an assumption that are counted to see if the spec refuses all of them.
_SAMPLES = 3
#: Values on either side of an unknown's own among which these are looked for.
_NEAR = 400


class Formulas(NamedTuple):
    """Closed forms of a network in its unknowns.

    Attributes:
        figures: figures, dims and vars by name, as far as they have a closed form.
        floors: for figures without one a figure that they are never below.
        claims: what the forms rely on.
        multiples: numbers that divide an unknown by a requirement of the spec, with its message.
    """

    figures: Mapping[str, ClosedForm]
    floors: Mapping[str, ClosedForm]
    claims: tuple[Claim, ...]


class Space:
    """Sizes among which an answer is sought.

    Attributes:
        axes: the unknowns.
        formulas: closed forms; None if there are none.
        without: why there are none, in words.
        assumed: figures that are taken to grow with every unknown, as nothing is proved about them.
        cut: unknowns without a greatest value that a figure cuts, if it grows with them.
        restricted: assumptions that bound the search, each with what is known of the networks outside.
    """

    def __init__(self, axes: Sequence[Axis], formulas: Formulas | None, points: Points, without: str = "") -> None:
        self.axes = tuple(axes)
        self.formulas = formulas
        self.without = without
        self.points = points
        self.assumed: set[str] = set()
        self.cut: dict[str, str] = {}
        self.restricted: dict[str, str] = {}
        self.is_narrowed = False
        self._open: tuple[Claim, ...] = () if formulas is None else tuple(c for c in formulas.claims if not c.required)
        self._refusing: tuple[Claim, ...] = () if formulas is None else tuple(c for c in formulas.claims if c.required)
        self.limits: list[Limit] = []
        self._demands: dict[str, ClosedForm] = {}
        for claim in self._refusing:
            self._demand(claim)
        self._names = [axis.name for axis in axes]

    def _demand(self, claim: Claim) -> None:
        """Take an order of sizes that the spec demands for a bound: what divides a size of at least 1 is no greater."""
        left, relation, right = claim.claim
        if not isinstance(left, (int, Poly)) or not isinstance(right, (int, Poly)):
            return
        differences: list[Dim] = []
        if relation in (">", ">=", "<", "<="):
            sign, strict = (1 if relation[0] == ">" else -1), len(relation) == 1
            differences.append((left - right) * sign - strict)
        if relation == "==":
            differences += [left - right, right - left]
        differences += [
            dividend - divisor
            for _, (dividend, divisor) in assumed_multiples([claim.claim])
            if bounds_of(dividend)[0] >= 1
        ]
        for difference in differences:
            name = f"{difference} >= 0"
            self._demands[name] = ClosedForm(difference, self.axes, {})
            self.limits.append(Limit(name, False, 0))

    @property
    def whole(self) -> Box:
        """All values of all unknowns."""
        return tuple((0, len(axis.values) - 1) for axis in self.axes)

    def values(self, places: Iterable[int]) -> tuple[Any, ...]:
        """Return the values at places."""
        return tuple(axis.values[place] for axis, place in zip(self.axes, places, strict=True))

    def corners(self, box: Box) -> Corners:
        """Return the least and the greatest value of each unknown in a box."""
        return [(axis.values[low], axis.values[high]) for axis, (low, high) in zip(self.axes, box, strict=True)]

    def is_closed(self, figure: str) -> bool:
        """Return True for a figure with a closed form."""
        return self.formulas is not None and figure in self.formulas.figures

    def form(self, figure: str) -> ClosedForm | None:
        """Return the closed form of a figure; None if it has none."""
        if figure in self._demands:
            return self._demands[figure]
        return None if self.formulas is None else self.formulas.figures.get(figure)

    def floor(self, figure: str) -> ClosedForm | None:
        """Return a closed form that a figure is never below; None if there is none."""
        return None if self.formulas is None else self.formulas.floors.get(figure)

    def restrict(self) -> None:
        """Take assumptions for requirements where the spec refuses networks outside that are counted."""
        for claim in self._open:
            outside = list(islice(self._outside(claim), _SAMPLES))
            if outside and all(self.points.at(values).refused for values in outside):
                self._take(claim, "the networks that were tried are refused")

    @property
    def has_open(self) -> bool:
        """True if some networks may have other closed forms."""
        return bool(self._open)

    def narrow(self) -> None:
        """Leave out networks whose closed forms are others."""
        self.is_narrowed = bool(self._open)
        for claim in self._open:
            self._take(claim, "networks are not compared")

    def _take(self, claim: Claim, reason: str) -> None:
        """Take an assumption for a requirement."""
        self._open = tuple(other for other in self._open if other is not claim)
        self._refusing = (*self._refusing, claim)
        self.restricted[claimed(claim.claim)] = reason
        self._demand(claim)

    def _outside(self, claim: Claim) -> Iterator[tuple[Any, ...]]:
        """Yield values for which an assumption fails, and all requirements hold, with one unknown other than it is."""
        own = [axis.own if axis.own in axis.values else axis.values[0] for axis in self.axes]
        for index, axis in enumerate(self.axes):
            first = axis.values.index(own[index])
            count = len(axis.values)
            steps = [*range(1, _NEAR), *(1 << power for power in range(12, 24)), *(-step for step in range(1, _NEAR))]
            places = [first + step for step in steps] + [0, count - 1 if not axis.is_endless else 0]
            for place in dict.fromkeys(place for place in places if 0 <= place < count):
                values = (*own[:index], axis.values[place], *own[index + 1 :])
                if not claim.holds(*values) and all(other.holds(*values) for other in self._refusing):
                    yield values

    def is_refused(self, box: Box) -> bool:
        """Return True if a requirement holds nowhere in a box."""
        if not self._refusing:
            return False
        corners = self.corners(box)
        return any(claim.within(self._names, corners) is False for claim in self._refusing)

    def is_open(self, box: Box) -> bool:
        """Return True if closed forms are not known to be those of all networks in a box."""
        if self.formulas is None:
            return True
        if not self._open:
            return False
        corners = self.corners(box)
        return any(claim.within(self._names, corners) is not True for claim in self._open)

    def least(self, figure: str, box: Box, *, is_open: bool) -> Number:
        """Return a number that a figure is never below in a box; −∞ if nothing is known."""
        form = self.form(figure)
        if form is not None and not is_open:
            return form.least(self.corners(box))
        known = self._assumed(figure, (low for low, _ in box), -math.inf)
        floor = None if is_open else self.floor(figure)
        return known if floor is None else max(known, floor.least(self.corners(box)))

    def most(self, figure: str, box: Box, *, is_open: bool) -> Number:
        """Return a number that a figure is never above in a box; ∞ if nothing is known."""
        form = self.form(figure)
        if form is not None and not is_open:
            return form.most(self.corners(box))
        return self._assumed(figure, (high for _, high in box), math.inf)

    def _assumed(self, figure: str, places: Iterable[int], unknown: float) -> Number:
        """Return the figure of a corner, if it is taken to grow with every unknown."""
        if figure not in self.assumed:
            return unknown
        return self.points.at(self.values(places)).figures.get(figure, unknown)

    def exact(self, places: Sequence[int], figures: Iterable[str]) -> Point:
        """Return figures of the network at places, by closed forms where these hold."""
        values = self.values(places)
        if self.formulas is not None and all(self.is_closed(figure) for figure in figures):
            if not all(claim.holds(*values) for claim in self._refusing):
                return Point("a requirement is not met", {})
            if all(claim.holds(*values) for claim in self._open):
                return Point("", {name: self.formulas.figures[name].at(values) for name in figures})
        elif self.formulas is not None and not all(claim.holds(*values) for claim in self._refusing):
            return Point("a requirement is not met", {})
        return self.points.at(values)


def with_requirements(request: Request, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the unknowns with the multiples alone that the requirements of the spec demand.

    Raises:
        NetcalcError: E502 if a range has none.
    """
    try:
        found = _required(_symbolic(request, axes))
    except NetcalcError:
        return tuple(axes)
    numbers: dict[str, tuple[int, str]] = {}
    for claim, message in found:
        for name, number in assumed_divisors([claim]).items():
            before = numbers.get(name, (1, message))
            numbers[name] = math.lcm(before[0], number), before[1]
    return tuple(axis.multiples(*numbers[axis.name]) if axis.name in numbers else axis for axis in axes)


def formulas_of(
    request: Request, axes: Sequence[Axis], figures: Iterable[str], counts: Counts, phase: Phase | None
) -> Formulas:
    """Return the closed forms of figures in the unknowns.

    Raises:
        NetcalcError: if the network has none: a size that cannot stay symbolic, with its line.
    """
    symbolic = _symbolic(request, axes)
    program = symbolic.program
    _require_limits(program, axes)
    symbols = symbols_of(axes)
    dims: dict[str, Dim] = {}
    analysis = counts(symbolic)
    for name in figures:
        if name in COSTS:
            dims[name] = cost_in(analysis, name)
        elif name in program.dims or name in program.vars:
            value = {**program.dims, **program.vars}[name]
            if isinstance(value, (int, Poly)) and not isinstance(value, bool):
                dims[name] = value
    required = {str(claim) for claim, _ in _required(symbolic)}
    claims = []
    for assumed in analysis.program.assumptions:
        claim = claim_of(assumed, str(assumed) in required, axes, symbols)
        assert claim is not False  # it holds at the sizes that the symbols were made of
        if isinstance(claim, Claim):
            claims.append(claim)
    closed = {name: ClosedForm(dim, axes, symbols) for name, dim in dims.items()}
    floors = {}
    if "memory" in figures and phase != "training":
        floors["memory"] = ClosedForm(cost_in(counts(symbolic), "weights"), axes, symbols)
    return Formulas(closed, floors, tuple(claims))


def _require_limits(program: Program, axes: Sequence[Axis]) -> None:
    """Raise NetcalcError (E404) for values outside the limits of the symbols with which a program was made."""
    for axis in axes:
        value = {**program.dims, **program.vars}[axis.name]
        assert isinstance(value, Poly)
        (own,) = value.symbols()
        if axis.values[0] < own.least or (isinstance(own.most, int) and axis.values[-1] > own.most):
            message = f"{axis.name} is a symbol from {own.least:,} on, and values are outside of that"
            raise NetcalcError(Diagnostic("E404", message))


def _symbolic(request: Request, axes: Sequence[Axis]) -> Request:
    """Return the request with a symbol for each unknown, by default one of its values that the spec accepts.

    Raises:
        NetcalcError: if the spec accepts none of those that are tried, or a size cannot stay symbolic.
    """
    names = tuple(axis.name for axis in axes)
    refused: NetcalcError | None = None
    for values in islice(product(*map(_examples, axes)), 64):
        settings = dict(zip(names, values, strict=True))
        try:
            request.with_settings(settings).program  # noqa: B018 - for its errors
        except NetcalcError as error:
            refused = refused or error
            continue
        symbolic = replace(request.with_settings(settings), symbolic=(*request.symbolic, *names))
        symbolic.program  # noqa: B018 - for its errors
        return symbolic
    assert refused is not None
    raise refused


def _examples(axis: Axis) -> list[Any]:
    """Return some values of an unknown, its own first."""
    count = len(axis.values)
    places = (0, 1, 2, 3, 5, 7, 11, 15, 23, 31, 47, 63, count // 2, count - 1)
    values = [axis.values[place] for place in places if place < count and not (axis.is_endless and place > 63)]
    own = [axis.own] if axis.own in axis.values else []
    if not own and isinstance(axis.own, (int, float)) and isinstance(axis.values, range):
        nearest = round((axis.own - axis.values.start) / axis.values.step)
        own = [axis.values[min(max(nearest, 0), count - 1)]]
    return [*dict.fromkeys([*own, *values])]


def _required(request: Request) -> list[tuple[Assumption, str]]:
    """Return the relations that the requirements of a spec demand of symbols, each with its message."""
    cursor = request.adapted.cursor
    found = []
    settings = Settings(request.adapted, request.settings, frozenset(request.symbolic))
    for requirement in cursor["require"].elements() if "require" in cursor.data else ():
        text = f" {requirement['that'].data} "
        if any(word in text for word in (" or ", " if ", " not ")):
            continue  # one of several ways to meet it is no requirement
        with assumptions() as noted, symbolic_values():
            evaluate_requirement(requirement["that"], settings)
        found += [(claim, str(requirement["message"].data)) for claim in noted]
    return found
