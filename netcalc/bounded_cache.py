"""Results that are kept for later use, up to a bound."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from threading import Lock
from typing import Generic, TypeVar

_V = TypeVar("_V")


class BoundedCache(Generic[_V]):
    """Values by key, of which the oldest half is dropped when their weights pass a bound; threads may share it.

    A value must follow from its key alone, so that it makes no difference whether it is kept.
    """

    __slots__ = ("_bound", "_lock", "_values", "_weight", "_weights", "get")

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._values: dict[Hashable, _V] = {}
        self._weights: dict[Hashable, int] = {}  # of the values that weigh more than 1
        self._weight = 0
        self._lock = Lock()
        self.get = self._values.get  # without a lock: a single operation of a dictionary

    def put(self, key: Hashable, value: _V, weight: int = 1) -> _V:
        """Keep a value, and return the one that is kept: an earlier one of the same key remains."""
        with self._lock:
            if key in self._values:
                return self._values[key]
            if self._weight + weight > self._bound:
                self._drop()
            self._values[key] = value
            self._weight += weight
            if weight != 1:
                self._weights[key] = weight
        return value

    def remove(self, key: Hashable) -> None:
        """Drop a value, if there is one of the key."""
        with self._lock:
            if key in self._values:
                del self._values[key]
                self._weight -= self._weights.pop(key, 1)

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
            self._weights.clear()
            self._weight = 0

    def __reduce__(self) -> tuple[type[BoundedCache[_V]], tuple[int]]:
        """Return what a copy in another process is made of: it keeps nothing yet."""
        return (type(self), (self._bound,))

    def __len__(self) -> int:
        return len(self._values)

    @property
    def weight(self) -> int:
        """The weights of the values together."""
        return self._weight

    def _drop(self) -> None:
        for key in list(islice(self._values, (len(self._values) + 1) // 2)):
            del self._values[key]
            self._weight -= self._weights.pop(key, 1)
