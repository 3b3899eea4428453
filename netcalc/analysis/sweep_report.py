"""Results of sweeps: columns of their points, the best ones, and the front of several figures."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple, Protocol, TypeAlias, overload

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.results import Entry, Real, Result, recorded

#: Points whose columns are read together, where points are read one after the other.
_BATCH = 4096

#: Value of a dim or var.
Setting: TypeAlias = bool | int | Real | str | list[Any] | None
#: Figure of a point; none where the spec refuses the point, or a file has no figure of it.
Figure: TypeAlias = int | Real | None


class Objective(NamedTuple):
    """A figure that is to be as small as possible, or as great as possible."""

    figure: str
    greatest: bool = False

    def key(self, value: Any) -> Any:
        """Return a value whose least is the best."""
        return -value if self.greatest else value

    @property
    def words(self) -> str:
        """The objective as options have it."""
        return f"max:{self.figure}" if self.greatest else self.figure


class Points(Protocol):
    """The plan of a sweep, whose points are computed from their places; see :mod:`netcalc.sweep.plan`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def ranges(self) -> Mapping[str, Sequence[Any]]:
        """Values by name."""

    @property
    def derived(self) -> Mapping[str, str]:
        """Expressions of the columns that follow from others."""

    @property
    def random(self) -> int | None:
        """Number of points that are drawn from the grid."""

    @property
    def seed(self) -> int:
        """Seed of the draw."""

    @property
    def grid(self) -> int:
        """Number of combinations of values."""

    def shown(self, start: int, stop: int) -> dict[str, list[Any]]:
        """Return the values of points by name, None where an expression has none."""

    def record(self) -> dict[str, Any]:
        """Return the plan as plain data."""


class SweepPoint(NamedTuple):
    """A point of a sweep."""

    place: int
    """Place in the sweep, from 0."""
    values: Mapping[str, Setting]
    """Values of the dims and vars."""
    figures: Mapping[str, Figure]
    """Figures by name, in the units of the sweep."""
    refused: str | None = None
    """Why the spec does not take these values."""

    @property
    def title(self) -> str:
        """The values in words: ``d_model=512,layers=8``."""
        return ",".join(f"{name}={value}" for name, value in self.values.items())


class Steps(NamedTuple):
    """Values at equal distances."""

    first: int | Real
    step: int | Real
    values: int
    """Number of values."""


class Refusal(NamedTuple):
    """A reason why points are refused."""

    reason: str
    """The reason at the first of the points; numbers in it may be others at the others."""
    points: int


class Columns(Sequence[SweepPoint]):
    """All points of a sweep in the order of its plan, whose figures are kept in columns."""

    def __init__(self, plan: Points, names: Iterable[str]) -> None:
        self.plan = plan
        self._figures: dict[str, array[int] | list[Any]] = {name: array("q") for name in names}
        #: Number of the reason of each point, 0 for none.
        self._codes = array("l")
        self._reasons: dict[str | None, int] = {None: 0}

    def add(self, figures: Mapping[str, Sequence[Any]], reasons: Sequence[str | None]) -> None:
        """Add the points that follow."""
        start, codes = len(self), array("l", bytes(self._codes.itemsize * len(reasons)))
        if any(reasons):
            codes = array("l", [self._reasons.setdefault(reason, len(self._reasons)) for reason in reasons])
        self._codes.extend(codes)
        for name, values in figures.items():
            self._add(name, values.tolist() if hasattr(values, "tolist") else values, start)

    def _add(self, name: str, values: Sequence[Any], start: int) -> None:
        """Add the values of a figure, which is in a list from the first that is no integer of 64 bits."""
        column, codes = self._figures[name], self._codes[start:]
        if isinstance(column, array):
            try:
                filled = values
                if any(codes):
                    filled = [0 if code else value for value, code in zip(values, codes, strict=True)]
                column.extend(array("q", filled))
                return
            except (OverflowError, TypeError):
                column = self._figures[name] = [*self.figure(name, 0, start)]
        column.extend(values)

    def __len__(self) -> int:
        return len(self._codes)

    @overload
    def __getitem__(self, place: int) -> SweepPoint: ...

    @overload
    def __getitem__(self, place: slice) -> list[SweepPoint]: ...

    def __getitem__(self, place: int | slice) -> SweepPoint | list[SweepPoint]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            return [*self._between(start, stop)] if step == 1 else [self[each] for each in range(start, stop, step)]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return next(self._between(place % len(self), place % len(self) + 1))

    def __iter__(self) -> Iterator[SweepPoint]:
        for start in range(0, len(self), _BATCH):
            yield from self._between(start, min(start + _BATCH, len(self)))

    def _between(self, start: int, stop: int) -> Iterator[SweepPoint]:
        values = self.plan.shown(start, stop)
        figures = {name: self.figure(name, start, stop) for name in self._figures}
        reasons = self.reasons(start, stop)
        for index, reason in enumerate(reasons):
            own = {name: column[index] for name, column in values.items()}
            yield SweepPoint(start + index, own, {name: column[index] for name, column in figures.items()}, reason)

    def figure(self, name: str, start: int = 0, stop: int | None = None) -> Sequence[Figure]:
        """Return a figure of points."""
        values, codes = self._figures[name][start:stop], self._codes[start:stop]
        if isinstance(values, list) or not any(codes):
            return values
        return [None if code else value for value, code in zip(values, codes, strict=True)]

    def reasons(self, start: int = 0, stop: int | None = None) -> list[str | None]:
        """Return why points are refused; None for those that are not."""
        texts = [*self._reasons]
        return [texts[code] for code in self._codes[start:stop]]


@recorded(
    "spec",
    "ranges",
    "derived",
    "random",
    "seed",
    "figures",
    "count",
    "refused",
    "reasons",
    Entry("best_by", "best_words"),
    "best",
    Entry("pareto", "pareto_words"),
    "front",
    "points",
    "notes",
    name="sweep",
)
@dataclass(frozen=True, slots=True)
class Sweep(Result):
    """Figures of a network at many values of its dims and vars.

    >>> import netcalc
    >>> sweep = netcalc.load("gpt2").sweep(["layers=2,4", "d_model=256,512,600", "heads=8"], pareto="params,macs")
    >>> sweep.count, sweep.refused, sweep.columns["params"].tolist()
    (6, 0, [14707968, 32561664, 39425400, 16287488, 38866432, 48081000])
    """

    spec: str
    """Name of the spec."""
    about: str
    plan: Points
    figures: Mapping[str, str]
    """Figures with their units, which are empty for those of a file."""
    count: int
    """Number of points."""
    refused: int
    """Number of points that the spec does not take."""
    reasons: tuple[Refusal, ...]
    """Reasons why points are refused, the most frequent first."""
    best_by: Objective
    best: tuple[SweepPoint, ...]
    """The best points by a figure."""
    pareto: tuple[Objective, ...]
    front: tuple[SweepPoint, ...]
    """Points of which no other is as good in all figures of `pareto` and better in one; the first of equal ones."""
    sample: tuple[SweepPoint, ...]
    rows: Columns | None
    file: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def ranges(self) -> Mapping[str, tuple[Setting, ...] | Steps]:
        """Values by name, the last range varying fastest; those of a long range as steps."""
        return {
            name: values if isinstance(values, tuple) else Steps(values[0], values[1] - values[0], len(values))
            for name, values in self.plan.ranges.items()
        }

    @property
    def derived(self) -> Mapping[str, str]:
        """Expressions of the columns that follow from others."""
        return self.plan.derived

    @property
    def random(self) -> int | None:
        """Number of points that were drawn from the grid; null for all of it."""
        return self.plan.random

    @property
    def seed(self) -> int:
        """Seed of the points that were drawn."""
        return self.plan.seed

    @property
    def best_words(self) -> str:
        """Figure by which points are the best, the least first; with `max:` before it the greatest."""
        return self.best_by.words

    @property
    def pareto_words(self) -> tuple[str, ...]:
        """Figures of the front, of which the least is the best; with `max:` before it the greatest."""
        return tuple(objective.words for objective in self.pareto)

    @property
    def points(self) -> Sequence[SweepPoint]:
        """All points in order; none if they were written to a file."""
        return () if self.rows is None else self.rows

    @property
    def columns(self) -> dict[str, Any]:
        """The points as columns: NumPy arrays of values and figures by name, and of reasons if points are refused.

        Data frames take them as they are: ``pandas.DataFrame(sweep.columns)``.  A figure that some points do not have
        is NaN there; its column is then of floats, or of objects if floats do not hold it.

        Raises:
            NetcalcError: E502 if the rows were written to a file.
        """
        from netcalc.arrays import column_of

        rows = self._kept()
        every = {**self.plan.shown(0, self.count), **{name: rows.figure(name) for name in self.figures}}
        reasons = {"reason": rows.reasons()} if self.refused else {}
        return {name: column_of(values) for name, values in {**every, **reasons}.items()}

    @property
    def accepted(self) -> dict[str, Any]:
        """The columns of the points that the spec takes, whose figures of the network are integers.

        Raises:
            NetcalcError: as :attr:`columns` does.
        """
        from netcalc.arrays import column_of

        rows = self._kept()
        taken = [reason is None for reason in rows.reasons()]
        every = {**self.plan.shown(0, self.count), **{name: rows.figure(name) for name in self.figures}}
        return {name: column_of([*compress(values, taken)]) for name, values in every.items()}

    def _kept(self) -> Columns:
        if self.rows is None:
            hint = "read the file, or leave out the output"
            raise NetcalcError(Diagnostic("E502", f"the rows of the sweep are in {self.file}", hint=hint))
        return self.rows
