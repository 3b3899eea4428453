"""Rows in strips for the cache and the threads, and short rows taken together for long loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from weakref import WeakValueDictionary

import numpy as np

from netcalc.engine.step import cuts, workers
from netcalc.numerics.kernels import Array

__all__ = ["across", "along", "long", "repeats", "strips"]

#: Elements of a strip.
_STRIP = 1 << 16
#: Elements that a row vector is repeated to, so that the loops over it are long.
_PATTERN = 1 << 12

#: Repeated vectors, as long as a step has them.
_patterns: WeakValueDictionary[tuple[int, str, int, int], Array] = WeakValueDictionary()


def strips(count: int, elements: int, threads: int) -> list[tuple[int, int]]:
    """(start, end) of strips of ``count`` places that have so many elements in all."""
    threads = workers(elements, threads)
    pieces = -(-elements // _STRIP)
    return cuts(count, -(-pieces // threads) * threads)


def long(width: int) -> int:
    """How many rows of this width make a long loop."""
    return max(1, _PATTERN // width)


def repeats(x: Array) -> int:
    """How many rows may be taken as one."""
    if not x.flags.c_contiguous:
        return 1
    return next(count for count in range(long(x.shape[1]), 0, -1) if len(x) % count == 0)


def across(ufunc: Callable[..., object], x: Array, values: Array) -> Callable[[], object]:
    """A pass over ``x``, in place, with a number for each column."""
    count = repeats(x)
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
    ufunc: Callable[..., object], x: Array, y: Array, values: Callable[[], Array], scratch: Array
) -> Iterator[Callable[[], object]]:
    """Passes that give ``y``, which is ``x`` with a number for each column that is known only then."""
    count, width = min(repeats(x), repeats(y)), y.shape[1]
    pattern = scratch[: count * width]
    yield lambda: np.copyto(pattern.reshape(count, width), values())
    yield partial(ufunc, x.reshape(-1, count * width), pattern, y.reshape(-1, count * width))
