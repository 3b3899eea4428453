"""Networks that are chains of lines, counted part by part.

A point of a sweep with lists of its own (kernels and channels of each block, blocks of each stage) has a structure that
hardly another point has, so that no closed form of the whole network pays.  Its parts are few: each turn of a repeat is
one, and so are the lines before and after.  Each part is a network of its own from the tensor before it, with closed
forms that all turns of all points share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import process_time
from typing import Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError
from netcalc.limits import MAX_ROWS
from netcalc.request import Request
from netcalc.spec.library import find_block
from netcalc.spec.line_syntax import SEQUENCE
from netcalc.spec.settings import resolve_settings
from netcalc.spec.sketches import chances_of, counts_of
from netcalc.sweep.columns import structure_of
from netcalc.sweep.families import Mean
from netcalc.sweep.plan import Undefined
from netcalc.sweep.points import may_have_forms
from netcalc.sweep.segments import SUMS, Kind, Segment
from netcalc.sweep.templates import LEAST_NUMBER, Read, Roles, Template, UnsuitableError, reader

#: Parts of different structure that are kept.
_MOST_SEGMENTS = 2_000
#: Turns of all repeats, and rows of reports, up to which no limit on a whole network is near.
_MOST_TURNS, _MOST_ROWS = 1_000, MAX_ROWS // 2
#: Points that are not all refused, if the chain can be counted at all.
_ENOUGH = 16
#: Keys of a declared input that say no more than its type.
_PLAIN_INPUT = frozenset({"shape", "dtype", "about", "range", "also"})
#: Errors of values that a template or a part has none for.
_ERRORS = (NetcalcError, ExpressionError, UnsuitableError, ValueError, TypeError, ArithmeticError, LookupError)


class _Turns(NamedTuple):
    """A repeat."""

    items: Read  # a list with an item for each turn
    counter: str
    item: str | None
    start: Read


class _Start(NamedTuple):
    """The input."""

    shape: Read
    dtype: str | None


class _Step(NamedTuple):
    """Lines, in each turn of a repeat if there is one."""

    template: Template
    turns: _Turns | None = None


class _Walk:
    """A point on its way through the chain."""

    __slots__ = ("first", "items", "kind", "number", "rows", "scope", "shape", "sums", "turns")

    def __init__(self, number: int, scope: dict[str, Any], kind: Kind, shape: tuple[int, ...]) -> None:
        self.number, self.scope, self.kind, self.shape = number, scope, kind, shape
        self.sums = [0] * len(SUMS)
        self.rows = 0
        self.items: Sequence[Any] = ()
        self.first = 0  # number of the first turn
        self.turns: list[int] = []


class Chain:
    """A network of lines that follow one another.

    Points with more turns of a repeat than earlier ones are counted as a whole too, and have to agree.

    Attributes:
        has_failed: True after a point whose figures differ from those of the whole network.
    """

    def __init__(self, request: Request, figures: Sequence[str], start: _Start, steps: Sequence[_Step]) -> None:
        self._request = request
        self._places = [SUMS.index(name) for name in figures]
        self._start, self._steps = start, steps
        self._segments: BoundedCache[tuple[Segment | None]] = BoundedCache(_MOST_SEGMENTS)
        self._most_turns = [0] * sum(step.turns is not None for step in steps)
        self._time = Mean()
        self.has_failed = False

    @property
    def time(self) -> float:
        """Seconds for a point; 0 before the first."""
        return self._time.value

    def figures(
        self, points: Sequence[Mapping[str, Any]], whole: Callable[[Mapping[str, Any]], tuple[int, ...]]
    ) -> list[tuple[int, ...] | None]:
        """Return the figures of points, None where the network has to be counted as a whole.

        Args:
            points: values of dims and vars of each point.
            whole: function that counts a point as a whole.
        """
        start = process_time()
        walks = [walk for number, point in enumerate(points) if (walk := self._begun(number, point)) is not None]
        for step in self._steps:
            walks = self._followed(step, walks)
        found: list[tuple[int, ...] | None] = [None] * len(points)
        for walk in walks:
            if sum(walk.turns) <= _MOST_TURNS and walk.rows <= _MOST_ROWS:
                found[walk.number] = tuple([walk.sums[place] for place in self._places])
        if points:
            self._time.add((process_time() - start) / len(points))
        if len(points) >= _ENOUGH and not walks:
            self.has_failed = True
        for walk in self._longest(walks):
            if found[walk.number] is not None and found[walk.number] != _counted(whole, points[walk.number]):
                self.has_failed = True
                return [None] * len(points)
        return found

    def _begun(self, number: int, point: Mapping[str, Any]) -> _Walk | None:
        """Return a point before the first line; None if it is refused."""
        if any(isinstance(value, Undefined) for value in point.values()):
            return None
        try:
            settings = resolve_settings(self._request.source, {**self._request.settings, **point}, ())
            scope = dict(settings)
            shape = self._start.shape(scope)
        except _ERRORS:
            return None
        if not all(type(size) is int and size > 0 for size in shape):
            return None
        return _Walk(number, scope, Kind(self._start.dtype, len(shape)), tuple(shape))

    def _followed(self, step: _Step, walks: list[_Walk]) -> list[_Walk]:
        """Take points through a step, and return those that are not refused."""
        if step.turns is None:
            return self._applied(step.template, walks)
        going, ended, turn = [walk for walk in walks if _enters(walk, step.turns)], [], 0
        while going:
            ended += [walk for walk in going if turn == walk.turns[-1]]
            going = [walk for walk in going if turn < walk.turns[-1]]
            for walk in going:
                walk.scope[step.turns.counter] = walk.first + turn
                if step.turns.item is not None:
                    walk.scope[step.turns.item] = walk.items[turn]
            going = self._applied(step.template, going)
            turn += 1
        return ended

    def _applied(self, template: Template, walks: Iterable[_Walk]) -> list[_Walk]:
        """Take points through lines, and return those that are not refused."""
        parts: dict[Any, tuple[Segment | None, list[tuple[_Walk, list[int]]]]] = {}
        for walk in walks:
            numbers: list[int] = []
            try:
                values = template.values(walk.scope)
                key = (*[structure_of(value, LEAST_NUMBER, numbers) for value in values], walk.kind)
                if key not in parts:
                    parts[key] = self._segment(template, key, values, len(numbers)), []
            except _ERRORS:
                continue
            parts[key][1].append((walk, [*numbers, *walk.shape]))
        left = []
        for segment, rows in parts.values():
            left += _through(segment, rows)
        return left

    def _segment(self, template: Template, key: Any, values: list[Any], numbers: int) -> Segment | None:
        """Return the part of lines with some values; None without any lines."""
        kept = self._segments.get((template, key))
        if kept is None:
            lines = template.lines(values)
            segment = Segment(lines, numbers, key[-1], self._request) if lines else None
            kept = self._segments.put((template, key), (segment,))
        return kept[0]

    def _longest(self, walks: Sequence[_Walk]) -> list[_Walk]:
        """Return points with more turns of a repeat than all before."""
        found: dict[int, _Walk] = {}
        for place, most in enumerate(self._most_turns):
            longest = max(walks, key=lambda walk: walk.turns[place], default=None)
            if longest is not None and longest.turns[place] > most:
                self._most_turns[place] = longest.turns[place]
                found[longest.number] = longest
        return list(found.values())


def _enters(walk: _Walk, turns: _Turns) -> bool:
    """Return True if a point has turns of a repeat, which it notes."""
    try:
        items, first = turns.items(walk.scope), turns.start(walk.scope)
        if type(first) is not int or not isinstance(items, (list, tuple, range)):
            return False
    except _ERRORS:
        return False
    walk.items, walk.first = items, first
    walk.turns.append(len(items))
    return sum(walk.turns) <= _MOST_TURNS


def _through(segment: Segment | None, rows: Sequence[tuple[_Walk, list[int]]]) -> list[_Walk]:
    """Take points through a part, and return those that are not refused."""
    if segment is None:
        return [walk for walk, _ in rows]
    try:
        found = segment.figures([numbers for _, numbers in rows])
    except ValueError:
        return []
    left = []
    for (walk, _), figures in zip(rows, found, strict=True):
        if figures is not None and segment.result is not None:
            walk.sums = [total + own for total, own in zip(walk.sums, figures, strict=False)]
            walk.rows += segment.rows
            walk.kind, walk.shape = segment.result, figures[len(SUMS) :]
            left.append(walk)
    return left


def _counted(whole: Callable[[Mapping[str, Any]], tuple[int, ...]], point: Mapping[str, Any]) -> tuple[int, ...] | None:
    try:
        return whole(point)
    except NetcalcError:
        return None


# -- making -----------------------------------------------------------------------------------------------


def chain_of(request: Request, figures: Sequence[str]) -> Chain | None:
    """Return the chain of a request for some of :data:`~netcalc.sweep.segments.SUMS`; None if it is no chain."""
    source = request.source
    document = source.document
    if not may_have_forms(request) or source.blocks or document.patch or len(document.inputs) != 1:
        return None
    names = frozenset({*document.dims, *document.vars})
    try:
        start = _start(source.cursor.data["inputs"], names)
        steps = list(_steps(source.cursor.data["layers"], names))
    except UnsuitableError:
        return None
    return Chain(request, figures, start, steps) if any(step.turns for step in steps) else None


def _start(inputs: Mapping[str, Any], names: frozenset[str]) -> _Start:
    (name, declared), *_ = inputs.items()
    data = declared if isinstance(declared, dict) else {"shape": declared}
    if "*" in name or not set(data) <= _PLAIN_INPUT or not isinstance(data.get("dtype"), str | None):
        raise UnsuitableError
    sizes = [reader(size, names, is_expression=True) for size in data["shape"]]
    return _Start(lambda scope: [size(scope) for size in sizes], data.get("dtype"))


def _steps(lines: Sequence[Any], names: frozenset[str]) -> Iterator[_Step]:
    """Yield the steps of lines, of which those between repeats are one."""
    plain: list[Any] = []
    for line in _flat(lines):
        if not isinstance(line, dict) or "repeat" not in line:
            plain.append(line)
            continue
        if plain:
            yield _Step(Template(plain, names, _roles))
            plain = []
        turns = _turns(line["repeat"], names)
        variables = {turns.counter} if turns.item is None else {turns.counter, turns.item}
        if "when" in line or variables & names:
            raise UnsuitableError
        own = {key: value for key, value in line.items() if key != "repeat"}
        yield _Step(Template([own], names | variables, _roles), turns)
    if plain:
        yield _Step(Template(plain, names, _roles))


def _flat(lines: Sequence[Any]) -> Iterator[Any]:
    """Yield the lines, those of a sequence in its place."""
    for line in lines:
        if isinstance(line, dict) and set(line) <= {SEQUENCE, "name", "eager"} and isinstance(line.get(SEQUENCE), list):
            yield from _flat(line[SEQUENCE])
        else:
            yield line


def _turns(data: Any, names: frozenset[str]) -> _Turns:
    entries = data if isinstance(data, dict) else {"times": data}
    if not set(entries) <= {"times", "each", "index", "as", "start"}:
        raise UnsuitableError
    start, index = reader(entries.get("start", 0), names, is_expression=True), entries.get("index", "index")
    if "each" in entries:
        return _Turns(reader(entries["each"], names, is_expression=True), index, entries.get("as", "item"), start)
    times = reader(entries["times"], names, is_expression=True)
    return _Turns(lambda scope: range(times(scope)), index, None, start)


def _roles(name: str) -> Roles:
    block = find_block(name)
    return Roles() if block is None else Roles(chances_of(block.cursor), counts_of(block.cursor))
