"""Plans of sweeps: ordered points that are computed from their places, and never are a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.ranges import Decimals, Values
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate

#: Rounds of the permutation from which points are drawn.
_ROUNDS = 6
#: Points that are drawn together on arrays, and the most bits of each half of their places there.
_MANY, _MOST_BITS = 256, 31
_WORD = (1 << 64) - 1


class Undefined(str):
    """The reason why an expression has no value at a point, in place of the value."""

    __slots__ = ()


@dataclass(frozen=True)
class Plan:
    """Points of a sweep in their order.

    A grid has every combination of values, the last range varying fastest.  Drawn points are distinct combinations:
    the first ones of a permutation of the grid that the seed chooses.

    Attributes:
        ranges: values by name.
        random: number of points that are drawn; None for the whole grid.
        seed: seed of the permutation.
        derived: expressions of further columns, by name.
        definitions: values of other names in these expressions, which may hold expressions themselves; none of all
            these is circular.
    """

    ranges: Mapping[str, Values]
    random: int | None = None
    seed: int = 0
    derived: Mapping[str, str] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: the ranges, then what follows from them."""
        return (*self.ranges, *self.derived)

    @cached_property
    def grid(self) -> int:
        """Number of combinations of values."""
        return prod(map(len, self.ranges.values()))

    def __len__(self) -> int:
        return self.grid if self.random is None else self.random

    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        """Return the values of the points from ``start`` to before ``stop``, one list for each name.

        A value is :class:`Undefined` where its expression has none.
        """
        count = len(self)
        start, stop = max(0, start), min(stop, count)
        if self.random is None:
            columns, stride = {}, self.grid
            for name, values in self.ranges.items():
                stride //= len(values)
                columns[name] = _cyclic(values, stride, start, stop)
        else:
            columns = self._at(self._permutation.between(start, stop))
        return self._completed(columns)

    def shown(self, start: int, stop: int) -> dict[str, list[Any]]:
        """Return the values of points as :meth:`columns` does, with None where an expression has none."""
        columns = self.columns(start, stop)
        for name in self.derived:
            columns[name] = [None if isinstance(value, Undefined) else value for value in columns[name]]
        return columns

    def _at(self, places: Sequence[int]) -> dict[str, list[Any]]:
        """Return the values at some places of the grid."""
        columns, stride = {}, self.grid
        for name, values in self.ranges.items():
            stride //= len(values)
            size = len(values)
            columns[name] = [values[place // stride % size] for place in places]
        return columns

    def _completed(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Return columns with those that follow from them."""
        if not self.derived:
            return columns
        scopes = [self._scope(row) for row in zip(*columns.values(), strict=True)]
        for name in self.derived:
            columns[name] = [scope.value(name) for scope in scopes]
        return columns

    def _scope(self, values: Sequence[Any]) -> _Scope:
        return _Scope(dict(zip(self.ranges, values, strict=True)), self._expressions)

    @cached_property
    def _expressions(self) -> Mapping[str, Cursor]:
        return {name: Cursor(value, (), {}) for name, value in {**self.definitions, **self.derived}.items()}

    @cached_property
    def _permutation(self) -> _Permutation:
        return _Permutation(self.grid, self.seed)

    def record(self) -> dict[str, Any]:
        """Return the plan as plain data, from which :meth:`from_record` makes it again."""
        return {
            "ranges": {name: _recorded(values) for name, values in self.ranges.items()},
            "random": self.random,
            "seed": self.seed,
            "derived": dict(self.derived),
            "definitions": dict(self.definitions),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Plan:
        """Return the plan of a record."""
        ranges = {name: _read(values) for name, values in record["ranges"].items()}
        return cls(ranges, record["random"], record["seed"], dict(record["derived"]), dict(record["definitions"]))

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan.from_record, (self.record(),)


class _Scope(Mapping[str, Any]):
    """Values of names at a point, each evaluated at its first use."""

    def __init__(self, values: dict[str, Any], expressions: Mapping[str, Cursor]) -> None:
        self._values = values
        self._expressions = expressions

    def value(self, name: str) -> Any:
        """Return the value of an expression; the reason if it has none."""
        try:
            return self[name]
        except NetcalcError as error:
            return Undefined(f"{name}: {error.diagnostics[0].message}")

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = evaluate(self._expressions[name], self)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._expressions

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._values, *self._expressions)))

    def __len__(self) -> int:
        return len({*self._values, *self._expressions})


def _cyclic(values: Values, stride: int, start: int, stop: int) -> list[Any]:
    """Return a slice of the endless sequence that has each value ``stride`` times in turn."""
    size = len(values)
    if stop <= start:
        return []
    if stride == 1 and size <= stop - start:
        first = start % size
        cycle = [*values[first:], *values[:first]]
        return (cycle * ((stop - start) // size + 1))[: stop - start]
    runs, place = [], start
    while place < stop:
        length = min(stride - place % stride, stop - place)
        if stride == 1:  # a part of a long range
            first = place % size
            length = min(size - first, stop - place)
            runs.append([*values[first : first + length]])
        else:
            runs.append([values[place // stride % size]] * length)
        place += length
    return [*chain.from_iterable(runs)]


class _Permutation:
    """Permutation of the numbers below a size, by a Feistel network with keys of the seed.

    A number that leaves the size is permuted again, until it is below it.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._bits = max(1, ((size - 1).bit_length() + 1) // 2)
        self._mask = (1 << self._bits) - 1
        self._keys = [_mixed((seed << 8) + round_ + 1) for round_ in range(_ROUNDS)]

    def between(self, start: int, stop: int) -> list[int]:
        """Return the numbers at the places from ``start`` to before ``stop``."""
        if stop - start >= _MANY and self._bits <= _MOST_BITS:
            from netcalc.sweep.draws import permuted

            return permuted(start, stop, self._size, self._bits, self._keys)
        return [self(place) for place in range(start, stop)]

    def __call__(self, place: int) -> int:
        while True:
            left, right = place >> self._bits, place & self._mask
            for key in self._keys:
                left, right = right, left ^ (_mixed(right + key) & self._mask)
            place = left << self._bits | right
            if place < self._size:
                return place


def _mixed(number: int) -> int:
    """Return 64 bits that depend on all bits of a number, by the finalizer of SplitMix64."""
    mixed = 0
    while True:
        mixed = (mixed + number + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        mixed ^= mixed >> 31
        number >>= 64
        if not number:
            return mixed


def _recorded(values: Values) -> Any:
    """Return the values of a range as plain data: a list, or the first, the step and the number of steps."""
    if isinstance(values, range):
        return {"first": values.start, "step": values.step, "count": len(values)}
    if isinstance(values, Decimals):
        return {"first": str(values.first), "step": str(values.step), "count": len(values)}
    return list(values)


def _read(recorded: Any) -> Values:
    if not isinstance(recorded, Mapping):
        return tuple(recorded)
    first, step, count = recorded["first"], recorded["step"], recorded["count"]
    if isinstance(first, int):
        return range(first, first + count * step, step)
    from decimal import Decimal

    return Decimals(Decimal(first), Decimal(step), count)
