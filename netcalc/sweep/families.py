"""Forms by the structure of points: found, made where they pay, and evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import process_time
from typing import Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.dims import Dim
from netcalc.ir import Program
from netcalc.opdef import Context
from netcalc.request import Request
from netcalc.spec.elaborate import float_type
from netcalc.spec.sketches import counts_in
from netcalc.sweep.columns import Group
from netcalc.sweep.forms import Counted, Counting, Form, Late, Open, form_of

#: Structures that are remembered, and forms that are kept.
_MOST_STRUCTURES, _MOST_FORMS = 4_000, 3_000
#: Forms of one structure with the same fixed integers.
_MOST_ALIKE = 48
#: Points of a structure for which no form is found, before no more are made.
_MOST_FAILURES = 2
#: Time for making forms: a share of that of single points, with what forms saved, and seconds at the start.
_SHARE, _START = 0.2, 0.2
#: Time of a form before one was made, in times of a single point.
_FORM_OF_SINGLES = 5

#: Points of a structure of which one is counted for the time that it takes.
_MANY = 64
#: Time that an attempt is expected to take, in times of one that was ended.
_OF_ENDED = 4

#: Function that counts the point of a number by itself, and returns its figures; None if the spec refuses it.
Single = Callable[[int], "tuple[int, ...] | None"]


class Results:
    """Columns of figures that are filled in parts."""

    def __init__(self, figures: int, size: int) -> None:
        import numpy as np

        self.columns: list[Any] = [np.zeros(size, np.int64) for _ in range(figures)]
        self.reasons: dict[int, str] = {}

    def put(self, places: Any, values: Sequence[Any]) -> None:
        """Write the figures of a place, or an array for each figure to an array of places."""
        for index, value in enumerate(values):
            column = self.columns[index]
            if column.dtype != object and _is_large(value):
                column = self.columns[index] = column.astype(object)
            column[places] = value

    def put_rows(self, rows: Mapping[int, Sequence[int]]) -> None:
        """Write the figures of some places, a row for each."""
        import numpy as np

        if rows:
            columns = [np.array(column) for column in zip(*rows.values(), strict=True)]
            self.put([*rows], [each if each.dtype == np.int64 else each.astype(object) for each in columns])

    def take(self, start: int, part: Results) -> None:
        """Write the figures and reasons of a part, whose first point has the place ``start``."""
        size = len(part.columns[0]) if part.columns else 0
        self.put(slice(start, start + size), part.columns)
        self.reasons |= {start + place: reason for place, reason in part.reasons.items()}


class Rest:
    """Points for which no form pays, which are counted otherwise.

    Args:
        time: seconds for each of them; 0 if that is not known.
    """

    def __init__(self, time: float) -> None:
        self.time = time
        self.places: list[int] = []

    def add(self, places: Any) -> None:
        """Add the points of some places."""
        self.places += places.tolist()


def _is_large(value: Any) -> bool:
    return value.dtype == object if hasattr(value, "dtype") else not -(1 << 63) <= value < 1 << 63


class _Family:
    """Forms of one structure, by the integers that have to be known."""

    __slots__ = ("failed", "failures", "fixed", "forms", "misses")

    def __init__(self, fixed: frozenset[tuple[Any, ...]]) -> None:
        self.fixed = fixed
        self.forms: dict[tuple[int, ...], list[Form]] = {}
        self.misses: dict[tuple[int, ...], int] = {}
        self.failed = False
        self.failures = 0  # points without a form among others that have one


class _Points(NamedTuple):
    """Points of a structure that are evaluated together."""

    group: Group
    settings: Mapping[str, Any]  # of one of them
    single: Single
    results: Results
    rest: Rest | None


class Forms:
    """The forms of the figures of a request."""

    def __init__(self, request: Request, count: Callable[[Program], Sequence[Dim]] | None) -> None:
        document = request.source.document
        dtype = request.dtype or document.checkpoint.dtype
        ctx = Context(training=request.mode == "train", dtype=document.dtype if dtype is None else float_type(dtype))
        source = request.source
        self._counting = None if count is None else Counting.of(source, counts_in(source.cursor.data), ctx, count)
        self._settings = request.settings
        self._families: BoundedCache[_Family] = BoundedCache(_MOST_STRUCTURES)
        self._kept = 0
        self.evaluated = 0  # points whose figures a form gave
        self._way = 0  # in which the last form was found
        self._fixed: frozenset[tuple[Any, ...]] = frozenset()  # integers that had to be known in some structure
        self._single_time, self._form_time = Mean(), Mean()
        self._allowed = _START  # seconds for making forms that are left

    def evaluate(
        self, group: Group, settings: Mapping[str, Any], single: Single, results: Results, rest: Rest | None = None
    ) -> None:
        """Write the figures of the points of a structure, or add them to the rest if no form pays."""
        points = _Points(group, settings, single, results, rest)
        family = self._families.get(group.structure) or self._families.put(group.structure, _Family(self._fixed))
        import numpy as np

        places = np.arange(len(group.places))
        if self._counting is None or family.failed:
            self._one_by_one(points, places)
        else:
            self._by_fixed(points, family, places)

    def _one_by_one(self, points: _Points, places: Any) -> None:
        if points.rest is not None:
            points.rest.add(points.group.places[places])
            self._allowed += _SHARE * points.rest.time * len(places)
            return
        for place in places:
            self._timed(points, int(place))

    def _timed(self, points: _Points, place: int) -> tuple[int, ...] | None:
        start = process_time()
        counted = points.single(int(points.group.places[place]))
        if counted is not None:
            taken = process_time() - start
            self._single_time.add(taken)
            self._allowed += _SHARE * taken
        return counted

    def _by_fixed(self, points: _Points, family: _Family, places: Any) -> None:
        """Evaluate points, those with the same integers that have to be known together."""
        leaves = points.group.leaves
        fixed = [index for index, leaf in enumerate(leaves) if leaf.place in family.fixed]
        for values, part in _parts([points.group.columns[index] for index in fixed], places):
            if family.failed:
                self._one_by_one(points, part)
            else:
                self._of_forms(points, family, (tuple(fixed), values), part)

    def _of_forms(
        self, points: _Points, family: _Family, known: tuple[tuple[int, ...], tuple[int, ...]], places: Any
    ) -> None:
        fixed, values = known
        group = points.group
        open_ = [index for index in range(len(group.leaves)) if index not in fixed]
        forms = family.forms.get(values, [])
        for form in forms:
            places = self._over(form, points, open_, places)
            if not len(places):
                return
        while len(places):
            if points.rest is not None and not self._pays_after(points.rest, family, values, len(places)):
                self._one_by_one(points, places)
                return
            first, places = int(places[0]), places[1:]
            counted = self._timed(points, first)
            if counted is None:
                continue
            family.misses[values] = family.misses.get(values, 0) + 1
            if points.rest is None and not self._pays(family, values, len(places), self._single_time.value):
                continue
            made = self._made(points, first, fixed, counted)
            if isinstance(made, Late):
                continue
            if not isinstance(made, Form) and any(family.forms.values()):
                family.failures += 1
                continue
            if isinstance(made, Open):
                family.fixed |= {*made.places}
                self._fixed |= {*made.places}
                family.forms, family.misses = {}, {}
                self._by_fixed(points, family, places)
                return
            if made is None:
                family.failed = True
                self._one_by_one(points, places)
                return
            family.misses[values] = 0
            family.forms.setdefault(values, []).append(made)
            self._kept += 1
            if not len(places):
                return
            places = self._over(made, points, open_, places)

    def _pays_after(self, rest: Rest, family: _Family, values: tuple[int, ...], waiting: int) -> bool:
        """Return True if a form is worth its time for points that are counted with the rest otherwise."""
        if not (rest.time and self._single_time.value):
            return not self._single_time.value and waiting >= _MANY  # one of them tells the time
        pays = self._pays(family, values, waiting, rest.time)
        if not pays:
            family.misses[values] = family.misses.get(values, 0) + waiting
        return pays

    def _pays(self, family: _Family, values: tuple[int, ...], waiting: int, time: float) -> bool:
        """Return True if a form is worth its time for points like those that had none so far, and take ``time``."""
        if family.failures >= _MOST_FAILURES or len(family.forms.get(values, ())) >= _MOST_ALIKE:
            return False
        if self._kept >= _MOST_FORMS:
            self._families.clear()
            self._kept = 0
        expected = self._form_time.value or _FORM_OF_SINGLES * self._single_time.value
        if expected > self._allowed:
            return False
        return (family.misses.get(values, 0) + waiting) * time >= expected

    def _over(self, form: Form, points: _Points, open_: Sequence[int], places: Any) -> Any:
        """Write the figures of the points that a form holds for, and return the others."""
        group = points.group
        whole = len(places) == len(group.places)
        columns = [group.columns[index] if whole else group.columns[index][places] for index in open_]
        held, found = form.straight.over(columns, len(places))
        number = int(held.sum())
        self.evaluated += number
        self._allowed += number * (self._single_time.value if points.rest is None else points.rest.time)
        if held.all():
            everywhere = whole and len(places) == len(points.results.columns[0])
            points.results.put(slice(None) if everywhere else group.places[places], found)
            return places[:0]
        taken = places[held]
        if len(taken):
            points.results.put(group.places[taken], [column[held] for column in found])
        return places[~held]

    def _made(
        self, points: _Points, place: int, fixed: Sequence[int], counted: Sequence[int]
    ) -> Form | Open | Late | None:
        """Return the form at a point whose figures are known."""
        start = process_time()
        group, settings = points.group, dict(points.settings)
        for leaf, column in zip(group.leaves, group.columns, strict=True):
            settings[leaf.place[0]] = _with(settings[leaf.place[0]], leaf.place[1:], int(column[place]))
        leaves = [leaf for index, leaf in enumerate(group.leaves) if index not in fixed]
        assert self._counting is not None
        point = Counted({**self._settings, **settings}, counted)
        form = form_of(self._counting, point, leaves, self._way)
        counts = tuple(leaf.place for leaf in leaves if leaf.place[0] in self._counting.counts)
        if form is None and counts:
            form = Open(counts)  # iterations may differ in a way that has no form for any number of them
        if isinstance(form, Form):
            self._way = form.way
        taken = process_time() - start
        self._allowed -= taken
        if not isinstance(form, Open):
            self._form_time.add(_OF_ENDED * taken if isinstance(form, Late) else taken)
        return form


def _with(value: Any, place: Sequence[int], number: int) -> Any:
    """Return a value with a number at a place in it."""
    if not place:
        return number
    items = list(value)
    items[place[0]] = _with(items[place[0]], place[1:], number)
    return type(value)(items)


def _parts(columns: Sequence[Any], places: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the places with equal values in all columns, with these values."""
    import numpy as np

    if not columns or not len(places):
        yield from [((), places)] if len(places) else ()
        return
    table = np.stack([column[places] for column in columns], 1)
    rows, inverse = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    bounds = np.cumsum(np.bincount(inverse.reshape(-1), minlength=len(rows)))[:-1]
    for row, part in zip(rows.tolist(), np.split(order, bounds), strict=True):
        yield tuple(row), places[part]


class Mean:
    """Mean of times in seconds, of which recent ones weigh more; 0 before the first."""

    def __init__(self) -> None:
        self.value = 0.0
        self._number = 0

    def add(self, time: float) -> None:
        """Add a time."""
        self._number = min(self._number + 1, 8)
        self.value += (time - self.value) / self._number
