"""Layout of the arena: stores that are never live at the same time share bytes."""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import numpy as np

from netcalc.engine.storage import Store
from netcalc.numerics.kernels import Array

__all__ = ["ALIGNMENT", "aligned", "arrange", "shared"]

#: Bytes of a cache line and of the widest vector register.
ALIGNMENT = 64
#: Bytes from which on huge pages are requested for shared memory, as NumPy does for its own arrays.
_HUGE_PAGES_FROM = 1 << 22


def arrange(stores: Sequence[Store]) -> tuple[dict[Store, int], int]:
    """Return the offset of each store and the size of the arena, in bytes.

    Stores are placed from the largest to the smallest, each at the lowest offset that is free throughout its lifetime
    (greedy by size; Pisarchyk & Lee 2020, arXiv:2001.03288).
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
    """Return ``nbytes`` of uninitialised memory that starts at a multiple of :data:`ALIGNMENT`."""
    memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes]


def shared(nbytes: int) -> Array:
    """Return ``nbytes`` of memory that this process shares with those forked from it."""
    memory = mmap.mmap(-1, max(nbytes, 1))
    if nbytes >= _HUGE_PAGES_FROM and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, nbytes)
