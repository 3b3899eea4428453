"""Figures that are to be small or great, and the points of which no other is better."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from netcalc.analysis.sweep_report import Objective
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

_MAX, _MIN = "max:", "min:"


def objectives_of(option: str, text: str, known: Iterable[str]) -> tuple[Objective, ...]:
    """Return the objectives that a text stands for, as in ``params,max:accuracy``.

    Raises:
        NetcalcError: E502 for a figure that is not known, or that is given twice.

    >>> objectives_of("--pareto", "params,max:accuracy", ["params", "accuracy"])
    (Objective(figure='params', greatest=False), Objective(figure='accuracy', greatest=True))
    """
    known = [*known]
    found: dict[str, Objective] = {}
    for part in (part.strip() for part in text.split(",")):
        name = part.removeprefix(_MAX).removeprefix(_MIN)
        if name not in known:
            hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
            if part[:1] in "-+" and part[1:] in known:
                hint = f"{_MAX}{part[1:]} for the greatest, {part[1:]} for the least"
            raise NetcalcError(Diagnostic("E502", f"{option} {text}: there is no figure {name!r}", hint=hint))
        if name in found:
            raise NetcalcError(Diagnostic("E502", f"{option} {text}: {name} is given twice"))
        found[name] = Objective(name, part.startswith(_MAX))
    return (*found.values(),)


class Front:
    """Points of which no other is as good in all objectives and better in one, kept while points are added.

    Of points that are equal in all objectives, the first one is kept.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        #: Keys in ascending order, of which with two objectives the second ones descend.
        self._keys: list[tuple[Any, ...]] = []
        self._points: list[Any] = []

    @property
    def points(self) -> Sequence[Any]:
        """The points, by their first objective."""
        return self._points

    def spread(self, count: int) -> Sequence[tuple[Any, ...]]:
        """Return the keys of so many points of the front, from its first to its last."""
        return self._keys[:: max(1, len(self._keys) // count)]

    def takes(self, key: tuple[Any, ...]) -> bool:
        """Return True for a point that would be a part of the front."""
        if self._count == 2:
            place = bisect_right(self._keys, key)
            return not place or bool(self._keys[place - 1][1] > key[1])
        return not any(all(mine <= its for mine, its in zip(other, key, strict=True)) for other in self._keys)

    def add(self, key: tuple[Any, ...], point: Any) -> None:
        """Add a point that the front takes; keys are the better the smaller they are."""
        place = bisect_right(self._keys, key)
        if self._count == 2:
            end = place
            while end < len(self._keys) and self._keys[end][1] >= key[1]:
                end += 1
            del self._keys[place:end], self._points[place:end]
        else:
            dominated = [all(its <= mine for its, mine in zip(key, other, strict=True)) for other in self._keys]
            if any(dominated):
                self._points = [each for each, is_worse in zip(self._points, dominated, strict=True) if not is_worse]
                self._keys = [each for each, is_worse in zip(self._keys, dominated, strict=True) if not is_worse]
                place = bisect_right(self._keys, key)
        self._keys.insert(place, key)
        self._points.insert(place, point)


#: Points from which NumPy is used to leave most of them out.
_MANY = 2_048
#: Points with which all others are compared at once.
_PIVOTS = 24


def contenders(columns: Sequence[Sequence[Any]], objectives: Sequence[Objective], front: Front) -> Iterable[int]:
    """Return the places of the values that may belong to a front, in ascending order; others surely do not.

    Args:
        columns: values of each objective, None for none.
        objectives: the objectives.
        front: the front of earlier points.
    """
    every = range(len(columns[0]))
    if len(every) < _MANY:
        return every
    import numpy as np

    from netcalc.arrays import column_of

    arrays = [column if isinstance(column, np.ndarray) else column_of(column) for column in columns]
    if any(values.dtype.kind not in "if" for values in arrays):
        return every  # integers that floats do not hold, which are compared one by one
    keys = [-values if each.greatest else values for each, values in zip(objectives, arrays, strict=True)]
    left = np.flatnonzero(~np.any([values != values for values in keys], axis=0))
    keys = [values[left] for values in keys]

    def leave_out(pivot: Sequence[Any], own: int | None = None) -> None:
        """Leave out the points that are no better than another in any objective."""
        nonlocal left, keys
        worse = np.all([values >= limit for values, limit in zip(keys, pivot, strict=True)], axis=0)
        if own is not None:
            worse[own] = False
        left, keys = left[~worse], [values[~worse] for values in keys]

    for pivot in front.spread(_PIVOTS):
        leave_out(pivot)
    weights = np.random.default_rng(0).random((_PIVOTS, len(keys))) + 0.1
    for own_weights in weights if len(left) > _PIVOTS else ():
        scaled = (values / (np.abs(values).max() or 1) for values in keys)
        score = sum(weight * values for weight, values in zip(own_weights, scaled, strict=True))
        own = int(np.argmin(score))
        leave_out([values[own] for values in keys], own)
    return left.tolist()


class Best:
    """The points with the least keys, as many as asked for, kept while points are added in their order."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._keys: list[Any] = []
        self._points: list[Any] = []

    @property
    def points(self) -> Sequence[Any]:
        """The points, the best first; of equal ones the first that were added."""
        return self._points

    def candidates(self, values: Sequence[Any], objective: Objective) -> list[int]:
        """Return the places of the values that are better than the worst that is kept, None being no value."""
        if len(self._keys) < self._count:
            return [place for place, value in enumerate(values) if value is not None]
        limit = objective.key(self._keys[-1])
        if objective.greatest:
            return [place for place, value in enumerate(values) if value is not None and value > limit]
        return [place for place, value in enumerate(values) if value is not None and value < limit]

    def takes(self, key: Any) -> bool:
        """Return True for a point that would be kept."""
        return len(self._keys) < self._count or key < self._keys[-1]

    def add(self, key: Any, point: Any) -> None:
        """Add a point."""
        place = bisect_right(self._keys, key)
        self._keys.insert(place, key)
        self._points.insert(place, point)
        del self._keys[self._count :], self._points[self._count :]
