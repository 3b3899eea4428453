"""Rows in strips for the cache and the threads, and short rows taken together for long loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from weakref import WeakValueDictionary

import numpy as np

from netcalc.engine.lower.parallelism import Parallelism
from netcalc.engine.step import cuts
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["across", "along", "long", "repeats", "strips"]

#: Repeated vectors, as long as a step has them.
_patterns: WeakValueDictionary[tuple[int, str, int, int], Array] = WeakValueDictionary()


def strips(count: int, elements: int, parallelism: Parallelism) -> list[tuple[int, int]]:
    """Return (start, end) of strips of ``count`` rows that have so many elements in all."""
    jobs = parallelism.pass_jobs(elements)
    pieces = -(-elements // parallelism.tuning.strip_elements)
    return cuts(count, -(-pieces // jobs) * jobs)


def long(width: int, tuning: Tuning) -> int:
    """Return the number of rows of this width that make a long inner loop."""
    return max(1, tuning.broadcast_elements // width)


def repeats(x: Array, tuning: Tuning) -> int:
    """Return the number of rows that a pass may treat as one."""
    if not x.flags.c_contiguous:
        return 1
    return next(count for count in range(long(x.shape[1], tuning), 0, -1) if len(x) % count == 0)


def across(ufunc: Callable[..., object], x: Array, values: Array, tuning: Tuning) -> Callable[[], object]:
    """Return the pass that combines ``x`` in place with one value for each column."""
    count = repeats(x, tuning)
    if count > 1:
        x = x.reshape(-1, count * x.shape[1])
        values = _repeated(values, count)
    return partial(ufunc, x, values, x)


def _repeated(values: Array, count: int) -> Array:
    """A vector so many times in a row; the same array wherever the same constant is repeated."""
    key = (values.ctypes.data, values.dtype.char, values.size, count)
    found = _patterns.get(key)
    if found is None:
        _patterns[key] = found = np.tile(values, count)
    return found


def along(
    ufunc: Callable[..., object], x: Array, y: Array, values: Callable[[], Array], scratch: Array, tuning: Tuning
) -> Iterator[Callable[[], object]]:
    """Yield passes that compute ``y`` from ``x`` and one value for each column, which is computed at run time."""
    count, width = min(repeats(x, tuning), repeats(y, tuning)), y.shape[1]
    pattern = scratch[: count * width]
    yield lambda: np.copyto(pattern.reshape(count, width), values())
    yield partial(ufunc, x.reshape(-1, count * width), pattern, y.reshape(-1, count * width))
