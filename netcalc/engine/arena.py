"""Where each store lies in the arena: stores that are never in use at the same time share bytes."""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import numpy as np

from netcalc.engine.storage import Store
from netcalc.numerics.kernels import Array

__all__ = ["ALIGNMENT", "aligned", "arrange", "shared"]

#: Bytes: a cache line, and the widest vector register.
ALIGNMENT = 64
#: From so many bytes on shared memory is asked for in large pages, as NumPy does for its own.
_LARGE = 1 << 22


def arrange(stores: Sequence[Store]) -> tuple[dict[Store, int], int]:
    """The offset of each store and the size of the arena, in bytes.

    The largest go first, each to the lowest place that is free while it is in use (greedy by size, as in Pisarchyk &
    Lee 2020, arXiv:2001.03288).
    """
    offsets: dict[Store, int] = {}
    placed: list[tuple[int, int, Store]] = []  # (start, end, store), by start
    total = 0
    for store in sorted(stores, key=lambda s: (-s.nbytes, s.first)):
        size = -(-store.nbytes // ALIGNMENT) * ALIGNMENT
        start = 0
        for begin, end, other in placed:
            if other.last < store.first or store.last < other.first:
                continue
            if begin - start >= size:
                break
            start = max(start, end)
        offsets[store] = start
        placed.append((start, start + size, store))
        placed.sort(key=lambda entry: entry[0])
        total = max(total, start + size)
    return offsets, total


def aligned(nbytes: int) -> Array:
    """So many bytes, starting at a multiple of :data:`ALIGNMENT`; not set to anything."""
    memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes]


def shared(nbytes: int) -> Array:
    """So many bytes that are the same in all copies of this process."""
    memory = mmap.mmap(-1, max(nbytes, 1))
    if nbytes >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, nbytes)
