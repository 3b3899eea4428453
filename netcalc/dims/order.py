"""Comparisons of sizes: decided by bounds, or by the default values, which is recorded as an assumption."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from netcalc.dims.atoms import Operand, UndecidedError, value_at
from netcalc.dims.intervals import Interval

_T = TypeVar("_T")

#: Comparisons by size.
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_NEGATIONS = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


class Assumption(NamedTuple):
    """A relation between two sizes that a symbolic result relies on, such as ``height >= 7``.

    ``relation`` is one of ``< <= > >= == !=``.
    """

    left: Operand
    relation: str
    right: Operand

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def is_same(self, other: Assumption) -> bool:
        """Return True for an assumption of the same form; real numbers are compared as formulas."""
        if self.relation != other.relation:
            return False
        pairs = ((self.left, other.left), (self.right, other.right))
        return all(str(a) == str(b) if isinstance(a, float) or isinstance(b, float) else a == b for a, b in pairs)

    def names(self) -> set[str]:
        """Return the names of all sizes that occur."""
        return {
            symbol.name for side in (self.left, self.right) if hasattr(side, "symbols") for symbol in side.symbols()
        }

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Return True if the relation holds at the given sizes; a name that is missing takes its default.

        Raises:
            UndecidedError: a name is missing and has no default.
        """
        return RELATIONS[self.relation](value_at(self.left, sizes), value_at(self.right, sizes))

    def within(self, difference: Interval) -> bool | None:
        """Return whether the relation holds if left − right lies in an interval, or None if that leaves it open."""
        low, high = difference
        relation = RELATIONS[self.relation]
        # the outcome of a comparison with 0 is the same everywhere if it is at both ends, and at 0 if 0 lies between
        ends = {relation(_sign(low), 0), relation(_sign(high), 0)} | ({relation(0, 0)} if low < 0 < high else set())
        return ends.pop() if len(ends) == 1 else None


class _Notes(list[Assumption]):
    """Assumptions in order, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: set[Any] = set()

    def add(self, claim: Assumption) -> None:
        """Add an assumption, unless there is one of the same form; real numbers are compared as formulas."""
        sides = (str(side) if isinstance(side, float) else side for side in (claim.left, claim.right))
        form = (claim.relation, *sides)
        if form not in self._known:
            self._known.add(form)
            self.append(claim)


_noted: ContextVar[_Notes | None] = ContextVar("_noted", default=None)

_values: ContextVar[bool] = ContextVar("_values", default=False)

_formulas: ContextVar[bool] = ContextVar("_formulas", default=False)

_followed: ContextVar[bool] = ContextVar("_followed", default=False)

_differences: ContextVar[list[Assumption] | None] = ContextVar("_differences", default=None)


@contextmanager
def assumptions() -> Iterator[list[Assumption]]:
    """Collect the assumptions made inside the block, in order and without duplicates."""
    notes = _Notes()
    token = _noted.set(notes)
    try:
        yield notes
    finally:
        _noted.reset(token)


@contextmanager
def differences() -> Iterator[list[Assumption]]:
    """Collect the comparisons of forms inside the block that found sizes different, which may be equal at others."""
    noted: list[Assumption] = []
    token = _differences.set(noted)
    try:
        yield noted
    finally:
        _differences.reset(token)


class Claims(NamedTuple):
    """Relations that a result relies on: what was assumed, and sizes that were found to be different."""

    assumed: tuple[Assumption, ...] = ()
    different: tuple[Assumption, ...] = ()

    def hold(self) -> bool:
        """Return True if all hold at the default sizes."""
        return all(claim.holds({}) for claim in (*self.assumed, *self.different))

    def note(self) -> None:
        """Add them to those of the blocks of :func:`assumptions` and :func:`differences`."""
        record(self.assumed)
        if (noted := _differences.get()) is not None:
            noted.extend(self.different)


def claims_of(make: Callable[[], _T]) -> tuple[_T, Claims]:
    """Return the result of a function, and what it relies on, which is noted, also if the function fails."""
    claims = Claims()
    compared: AbstractContextManager[list[Assumption]] = differences() if is_traced() else nullcontext([])
    try:
        with assumptions() as assumed, compared as different:
            try:
                result = make()
            finally:
                claims = Claims(tuple(assumed), tuple(different))
    finally:
        claims.note()
    return result, claims


@contextmanager
def unnoted() -> Iterator[None]:
    """Compare forms inside the block for their own sake: nothing that is found relies on sizes being different."""
    token = _differences.set(None)
    try:
        yield
    finally:
        _differences.reset(token)


@contextmanager
def formulas_kept() -> Iterator[None]:
    """Keep real numbers that follow from sizes as formulas inside a block of :func:`differences`, which has none."""
    tokens = _formulas.set(True), _values.set(True)
    try:
        yield
    finally:
        _formulas.reset(tokens[0])
        _values.reset(tokens[1])


@contextmanager
def followed() -> Iterator[None]:
    """Decide comparisons of forms inside a block of :func:`differences` at the default sizes, as all others are."""
    token = _followed.set(True)
    try:
        yield
    finally:
        _followed.reset(token)


@contextmanager
def symbolic_values() -> Iterator[None]:
    """Let what follows from sizes be symbolic inside the block too: numbers of iterations, and real numbers."""
    token = _values.set(True)
    try:
        yield
    finally:
        _values.reset(token)


def has_symbolic_values() -> bool:
    """Return True inside a block of :func:`symbolic_values` or :func:`differences`."""
    return _values.get() or in_sketch()


def in_sketch() -> bool:
    """Return True inside a block of :func:`differences`, where sizes stand for others than their defaults."""
    return _differences.get() is not None and not _formulas.get()


def is_followed() -> bool:
    """Return True inside a block of :func:`followed` and :func:`differences`, where no size has to be a number."""
    return _followed.get() and _differences.get() is not None


def is_traced() -> bool:
    """Return True inside a block of :func:`differences`, where an elaboration stands for others, whatever it keeps."""
    return _differences.get() is not None


def note_difference(left: Operand, right: Operand) -> bool:
    """Note that two sizes have different forms, and return True if they are equal nevertheless, which is assumed."""
    noted = _differences.get()
    if noted is None:
        return False
    equal = Assumption(left, "==", right)
    if _followed.get() and equal.holds({}):
        _record_assumption(equal)
        return True
    noted.append(equal._replace(relation="!="))
    return False


def decide(claim: Assumption, difference: Interval) -> bool:
    """Return True if the claim holds: at all sizes, or at the default sizes, which is then recorded as assumed.

    ``difference`` bounds left − right.

    Raises:
        UndecidedError: the bounds leave the claim open, and a size in it has no default.
    """
    decided = claim.within(difference)
    if decided is not None:
        return decided
    try:
        holds = claim.holds({})
    except UndecidedError as error:
        raise UndecidedError(f"whether {claim} is open: {error.message}") from None
    _record_assumption(claim if holds else claim._replace(relation=_NEGATIONS[claim.relation]))
    return holds


def record(claims: Iterable[Assumption]) -> None:
    """Record assumptions of a block inside another block of :func:`assumptions`."""
    for claim in claims:
        _record_assumption(claim)


def assume(claim: Assumption, difference: Interval) -> bool:
    """Return False if the claim fails at all sizes; otherwise record it, unless it holds at all sizes."""
    decided = claim.within(difference)
    if decided is None:
        _record_assumption(claim)
    return decided is not False


def require(claim: Assumption, difference: Interval) -> bool:
    """Return False if the claim fails at all sizes or at the default sizes; otherwise record it, as :func:`assume`."""
    try:
        if claim.within(difference) is None and not claim.holds({}):
            return False
    except UndecidedError:
        pass  # a size without a default
    return assume(claim, difference)


def _record_assumption(claim: Assumption) -> None:
    notes = _noted.get()
    token = _differences.set(None)  # whether two claims are one says nothing about their sizes
    try:
        if notes is not None:
            notes.add(claim)
    finally:
        _differences.reset(token)


def _sign(bound: float) -> int:
    return (bound > 0) - (bound < 0)
