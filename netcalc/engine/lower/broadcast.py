"""Row vectors broadcast over the rows of a tile, with inner loops that are long even where rows are short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.lower.passes import Pass
from netcalc.engine.tuning import Tuning

#: Repeated vectors, as long as a step holds them.
_repeated_vectors: WeakValueDictionary[tuple[int, str, int], Array] = WeakValueDictionary()


def rows_at_once(width: int, tuning: Tuning) -> int:
    """Return the number of rows of this width that make a long inner loop."""
    return max(1, tuning.broadcast_elements // width)


def repeated_bytes(width: int, itemsize: int, rows: int, tuning: Tuning) -> int:
    """Return the most bytes of the repeated vector that a step of so many rows keeps for a vector of this width."""
    count = min(rows, rows_at_once(width, tuning))
    return count * width * itemsize if count > 1 else 0


def merged_rows(x: Array, tuning: Tuning) -> int:
    """Return the number of rows of ``x`` that a pass may treat as one."""
    if not x.flags.c_contiguous:
        return 1
    return next(count for count in range(rows_at_once(x.shape[1], tuning), 0, -1) if len(x) % count == 0)


def across(ufunc: Callable[..., object], x: Array, out: Array, values: Array, tuning: Tuning) -> Pass:
    """Return the pass that computes ``out`` from ``x`` and one value for each column."""
    rows, count = len(x), min(merged_rows(x, tuning), merged_rows(out, tuning))
    if count > 1:
        x, out = (array.reshape(-1, count * array.shape[1]) for array in (x, out))
        values = _repeated_vector(values, min(rows, rows_at_once(values.size, tuning)))[: x.shape[1]]
    return partial(ufunc, x, values, out)


def across_computed(
    ufunc: Callable[..., object], x: Array, out: Array, values: Callable[[], Array], buffer: Array, tuning: Tuning
) -> Iterator[Pass]:
    """Yield passes that compute ``out`` from ``x`` and one value for each column.

    ``values`` computes these at run time; ``buffer`` holds them, repeated for :func:`rows_at_once` rows.
    """
    count, width = min(merged_rows(x, tuning), merged_rows(out, tuning)), out.shape[1]
    pattern = buffer[: count * width]
    yield lambda: np.copyto(pattern.reshape(count, width), values())
    yield partial(ufunc, x.reshape(-1, count * width), pattern, out.reshape(-1, count * width))


#: Elements of a row of limits.  It stays in the first-level cache.
_LIMITS = 1 << 12


def clipped(x: Array, out: Array, lowest: float | None, highest: float | None) -> Iterator[Pass]:
    """Yield passes that clip ``x``, of (rows, columns), with rows of limits.

    NumPy vectorizes a minimum or maximum of two arrays, but not of an array and a number.
    """
    dense = x.flags.c_contiguous and out.flags.c_contiguous
    for ufunc, limit in ((np.maximum, lowest), (np.minimum, highest)):
        if limit is not None:
            for source, target in zip(_long_rows(x, dense), _long_rows(out, dense), strict=True):
                yield partial(ufunc, source, _limits(limit, x.dtype, source.shape[-1]), out=target)
            x = out


def _long_rows(x: Array, dense: bool) -> list[Array]:
    """Return views of all elements, as long rows where ``x`` has no gaps."""
    if not dense:
        return [x]
    height, width = x.shape
    count = next(count for count in range(max(1, _LIMITS // width), 0, -1) if height % count == 0)
    if 2 * count * width >= _LIMITS:
        return [x.reshape(-1, count * width)]
    flat = x.reshape(-1)
    split = flat.size // _LIMITS * _LIMITS
    return [part for part in (flat[:split].reshape(-1, _LIMITS), flat[split:]) if part.size]


def _limits(value: float, dtype: np.dtype[Any], count: int) -> Array:
    return _full_row(value, dtype, max(count, _LIMITS))[:count]


@lru_cache(64)
def _full_row(value: float, dtype: np.dtype[Any], count: int) -> Array:
    return np.full(count, value, dtype)


def _repeated_vector(values: Array, count: int) -> Array:
    """Return a vector repeated so many times; the same array for all uses of the same constant."""
    key = (values.ctypes.data, values.dtype.char, values.size)
    repeated = _repeated_vectors.get(key)
    # the memory may have belonged to a constant of another session, which is freed before its repetitions are
    if repeated is None or len(repeated) < count * values.size or repeated[: values.size].tobytes() != values.tobytes():
        # the dictionary needs the array that owns the memory, which all views of it keep
        _repeated_vectors[key] = repeated = np.empty(count * values.size, values.dtype)
        repeated.reshape(count, -1)[...] = values
    return repeated
