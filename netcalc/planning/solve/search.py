"""Branch and bound over boxes of sizes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from netcalc.limits import MAX_SOLVE_BOXES, MAX_SOLVE_COUNTED
from netcalc.planning.solve.axes import ENDLESS
from netcalc.planning.solve.conditions import Aim, Condition, Limit, Number
from netcalc.planning.solve.space import Box, Space

#: Boxes in which a first answer is looked for along their edges.
_CLIMBED = 40
#: Rounds in which the conditions make a box smaller.
_ROUNDS = 3


class Outcome(NamedTuple):
    """The end of a search.

    Attributes:
        places: places of the best values; None if no sizes that meet the conditions are known.
        score: score of the aim there.
        is_complete: True if nothing better is possible, as far as the bounds are right.
        bound: no score is greater than this.
    """

    places: tuple[int, ...] | None
    score: Number
    is_complete: bool
    bound: Number


class UnboundedError(Exception):
    """Values of unknowns have no end: nothing makes them too great."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def search(space: Space, conditions: Sequence[Condition], aim: Aim | None) -> Outcome:
    """Return the best sizes that meet some conditions; any of them without an aim.

    Raises:
        UnboundedError: the values of an unknown have no greatest one, and neither conditions nor aim give one.
    """
    return _Search(space, conditions, aim).run()


def remaining(space: Space, conditions: Sequence[Condition], aim: Aim | None) -> float:
    """Return the number of sizes that the bounds of formulas leave for a search."""
    return _Search(space, conditions, aim).count()


class _Search:
    def __init__(self, space: Space, conditions: Sequence[Condition], aim: Aim | None) -> None:
        self._space = space
        self._limits = [limit for condition in conditions for limit in condition.limits]
        self._aim = aim
        self._figures = [*dict.fromkeys([*(c.figure for c in conditions), *([aim.figure] if aim else [])])]
        self._conditions = conditions
        self._best: tuple[int, ...] | None = None
        self._score: Number = -math.inf
        self._tried = 0

    def count(self) -> float:
        """Return the number of sizes that the bounds of formulas leave; ∞ if they leave an unknown without an end."""
        try:
            box = self._bounded(self._space.whole)
        except UnboundedError:
            return math.inf
        return 0 if box is None else math.prod(high - low + 1 for low, high in box)

    def run(self) -> Outcome:
        """Go through boxes, the most promising first, until none can have anything better."""
        self._try_own()
        queue: list[tuple[Number, int, Box]] = []
        root = self._bounded(self._space.whole)
        if root is not None:
            queue.append((-self._promise(root), 0, root))
        boxes = 0
        while queue:
            promise, _, box = heapq.heappop(queue)
            if self._is_done(-promise):
                break
            boxes += 1
            if boxes > MAX_SOLVE_BOXES or self._space.points.counted > MAX_SOLVE_COUNTED:
                return Outcome(self._best, self._score, False, -promise)
            if all(low == high for low, high in box):
                self._try(tuple(low for low, _ in box))
                continue
            if self._tried < _CLIMBED:
                self._climb(box)
            for number, half in enumerate(_halves(box)):
                smaller = self._tightened(half)
                if smaller is not None and not self._is_done(score := self._promise(smaller)):
                    heapq.heappush(queue, (-score, -2 * boxes - number, smaller))
        return Outcome(self._best, self._score, True, self._score)

    def _is_done(self, promise: Number) -> bool:
        """Return True if a box with the greatest score ``promise`` cannot have anything better."""
        return self._best is not None and (self._aim is None or promise <= self._score)

    def _promise(self, box: Box) -> Number:
        """Return a score that nothing in a box exceeds."""
        if self._aim is None:
            return 0
        is_open = self._space.is_open(box)
        least = self._space.least(self._aim.figure, box, is_open=is_open)
        return self._aim.best(least, self._space.most(self._aim.figure, box, is_open=is_open))

    def _try(self, places: tuple[int, ...]) -> bool:
        """Return True if sizes meet all conditions, and keep them if they are the best until now."""
        point = self._space.exact(places, self._figures)
        if point.refused or not all(condition.holds(point.figures[condition.figure]) for condition in self._conditions):
            return False
        score = 0 if self._aim is None else self._aim.score(point.figures[self._aim.figure])
        if self._best is None or score > self._score:
            self._best, self._score = places, score
        return True

    def _try_own(self) -> None:
        """Try the values without a question, so that they stay where nothing is better."""
        axes = self._space.axes
        if all(axis.own in axis.values for axis in axes):
            self._try(tuple(axis.values.index(axis.own) for axis in axes))

    def _climb(self, box: Box) -> None:
        """Try the least sizes of a box, and from there the greatest of each unknown in turn."""
        if not all(self._space.is_closed(figure) for figure in self._figures):
            return
        self._tried += 1
        places = [low for low, _ in box]
        if not self._try(tuple(places)):
            return
        for axis, (low, high) in enumerate(box):

            def meets(place: int, axis: int = axis) -> bool:
                return self._try((*places[:axis], place, *places[axis + 1 :]))

            places[axis] = _last(meets, low, high)

    # -- bounds -------------------------------------------------------------------------------------

    def _bounded(self, box: Box) -> Box | None:
        """Return the box of all values, with a greatest one for each unknown."""
        tight = self._tightened(box)
        if tight is None or not self._endless(tight):
            return tight
        is_closed = self._space.formulas is not None and all(map(self._space.is_closed, self._figures))
        for power in range(0, 60 if is_closed else 10, 2):  # an answer, however bad, bounds the others
            places = tuple(
                min(low + (1 << power), high) if self._space.axes[index].is_endless else low
                for index, (low, high) in enumerate(tight)
            )
            if self._try(places):
                break
        tight = self._tightened(box)
        names = [] if tight is None else self._endless(tight)
        if tight is not None and names and not (self._best is not None and self._aim is None):
            is_open = self._space.is_open(tight) or not self._limits
            if is_open or not is_closed or self._best is not None:
                raise UnboundedError(names)
        return tight

    def _endless(self, box: Box) -> list[str]:
        pairs = zip(self._space.axes, box, strict=True)
        return [axis.name for axis, (_, high) in pairs if axis.is_endless and axis.values[high] >= ENDLESS // 2]

    def _tightened(self, box: Box) -> Box | None:
        """Return a box without values at its ends that break a condition or are no better; None if nothing is left."""
        if self._space.is_refused(box):
            return None
        limits: Iterable[Limit] = (*self._space.limits, *self._limits)
        if self._best is not None and self._aim is not None:
            limits = (*limits, *self._aim.better_than(self._score))
        for _ in range(0 if self._space.is_open(box) else _ROUNDS):
            before = box
            for limit in limits:
                smaller = self._within(box, limit)
                if smaller is None:
                    return None
                box = smaller
            if box == before:
                break
        return None if any(self._is_beyond(box, limit) for limit in limits) else box

    def _is_beyond(self, box: Box, limit: Limit) -> bool:
        """Return True if a figure that is taken to grow with the unknowns is beyond a limit in all of a box."""
        if limit.figure not in self._space.assumed:
            return False
        bound = self._space.least if limit.most else self._space.most
        return not limit.holds(bound(limit.figure, box, is_open=False))

    def _within(self, box: Box, limit: Limit) -> Box | None:
        """Return the part of a box where a figure may be within a limit; None if it is nowhere."""
        space = self._space
        form = space.form(limit.figure) or (space.floor(limit.figure) if limit.most else None)
        if form is None:
            return box
        bound, other = (form.least, form.most) if limit.most else (form.most, form.least)

        def possible(part: Box) -> bool:
            return limit.holds(bound(space.corners(part)))

        if not possible(box):
            return None
        if not form.is_monotone or limit.holds(other(space.corners(box))):
            return box
        parts = list(box)
        for index, direction in enumerate(form.directions):
            low, high = parts[index]
            if not direction or low == high:
                continue

            def within(place: int, index: int = index) -> bool:
                return possible((*parts[:index], (place, place), *parts[index + 1 :]))

            if (direction == 1) == limit.most:  # the greatest values are the ones that are too many
                parts[index] = low, _last(within, low, high)
            else:
                parts[index] = _first(within, low, high), high
        return tuple(parts)


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the greatest number from ``low`` on that a condition holds for, as it does for all up to it."""
    if holds(high):
        return high
    step = 1
    while low + step < high and holds(low + step):
        low, step = low + step, 2 * step
    high = min(low + step, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least number up to ``high`` that a condition holds for, as it does for all from it on."""
    if holds(low):
        return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _halves(box: Box) -> Iterable[Box]:
    """Return the two halves of a box by its unknown with the most values, the greater values first."""
    index = max(range(len(box)), key=lambda each: box[each][1] - box[each][0])
    low, high = box[index]
    middle = (low + high) // 2
    for part in ((middle + 1, high), (low, middle)):
        yield (*box[:index], part, *box[index + 1 :])
