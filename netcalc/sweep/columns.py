"""Columns of values, taken apart into structures and integers.

Points whose values have the same structure, such as lists of equal lengths and the same texts, differ in integers
alone.  Small integers, such as strides, belong to the structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from netcalc.spec.body_cache import hashable
from netcalc.sweep.forms import Leaf
from netcalc.sweep.plan import Undefined

#: Least integer in a list that is no part of a structure; of others it is 1.
LEAST = 3
#: Integers of columns are less than this.
MOST = 1 << 62

_SIZE = ("size",)


class Group(NamedTuple):
    """Points of one structure."""

    structure: tuple[Any, ...]  # of each column
    leaves: tuple[Leaf, ...]
    places: Any  # array of the numbers of the points
    columns: list[Any]  # array of int64 for each leaf


class Column:
    """Values of a dim or var, with the structure of each as a code."""

    def __init__(self, name: str, values: Sequence[Any], least: int) -> None:
        import numpy as np

        self.name, self._least = name, least
        self.structures: list[Any] = []
        self.codes: Any = None  # of each structure; None if there is one only
        integers = _integers(values)
        if integers is not None:
            self._least = 1
            self.integers = integers
            small = integers < 1
            if not small.any():
                self.structures = [_SIZE]
                return
            found, inverse = np.unique(np.where(small, integers, 1), return_inverse=True)
            self.codes = inverse.reshape(-1)
            self.structures = [_SIZE if value >= 1 else ("int", value) for value in found.tolist()]
            return
        self.integers = None
        self.rows: list[list[int]] = []
        known: dict[Any, int] = {}
        codes: list[int] = []
        for value in values:
            row: list[int] = []
            own = least if type(value) in (list, tuple) else 1
            codes.append(known.setdefault(structure_of(value, own, row), len(known)))
            self.rows.append(row)
        self.structures = list(known)
        self.codes = np.array(codes, np.int64) if len(known) > 1 else None

    def leaves(self, structure: Any, value: Any) -> list[Leaf]:
        """Return the integers of values of a structure, of which ``value`` is one."""
        if structure == _SIZE:
            return [Leaf((self.name,), 1)]
        return [Leaf(place, self._least) for place in _places(value, (self.name,), self._least)]

    def arrays(self, places: Any, number: int) -> list[Any]:
        """Return the integers of some points of one structure, an array for each place."""
        import numpy as np

        if number == 0:
            return []
        if self.integers is not None:
            return [self.integers[places]]
        table = np.array([self.rows[place] for place in places.tolist()], np.int64)
        return list(np.ascontiguousarray(table.T))


def structure_of(value: Any, least: int, row: list[int]) -> Any:
    """Return the structure of a value, whose integers are added to ``row``."""
    kind = type(value)
    if kind is int:
        if least <= value < MOST:
            row.append(value)
            return _SIZE
        return "int", value
    if kind is list or kind is tuple:
        return (kind, *[structure_of(item, least, row) for item in value])
    if isinstance(value, Undefined):
        return "undefined", str(value)
    return hashable(value)


def groups(columns: Sequence[Column], values: Sequence[Sequence[Any]], size: int) -> Iterator[Group]:
    """Yield the points of each structure; ``values`` are those of the columns."""
    import numpy as np

    code = None
    for column in columns:
        if column.codes is not None:
            code = column.codes if code is None else code * len(column.structures) + column.codes
            if code is not column.codes and int(code.max()) > 1 << 31:
                code = np.unique(code, return_inverse=True)[1].reshape(-1)
    if code is None:
        parts = [np.arange(size)] if size else []
    else:
        order = np.argsort(code, kind="stable")
        bounds = np.flatnonzero(np.diff(code[order])) + 1
        parts = np.split(order, bounds)
    for places in parts:
        first = int(places[0])
        structure, leaves, arrays = [], [], []
        everything = slice(None) if len(places) == size else places
        for column, listed in zip(columns, values, strict=True):
            own = column.structures[0 if column.codes is None else int(column.codes[first])]
            found = column.leaves(own, listed[first])
            structure.append(own)
            leaves += found
            arrays += column.arrays(everything if column.integers is not None else places, len(found))
        yield Group(tuple(structure), tuple(leaves), places, arrays)


def _places(value: Any, place: tuple[Any, ...], least: int) -> Iterator[tuple[Any, ...]]:
    if type(value) is int:
        if least <= value < MOST:
            yield place
    elif type(value) in (list, tuple):
        for index, item in enumerate(value):
            yield from _places(item, (*place, index), least)


def _integers(values: Sequence[Any]) -> Any:
    """Return a column of integers as an array of int64; None for other values."""
    import numpy as np

    if isinstance(values, np.ndarray):
        if values.dtype.kind == "i" or (values.dtype.kind == "u" and (not len(values) or int(values.max()) < MOST)):
            return values.astype(np.int64, copy=False)
        return None
    if set(map(type, values)) != {int} or max(values) >= MOST or min(values) <= -MOST:
        return None
    return np.array(values, np.int64)
