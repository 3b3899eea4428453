"""Layout of the arena: stores that are never live at the same time share bytes."""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.storage import Store

#: Bytes of a cache line and of the widest vector register.
ALIGNMENT = 64
#: Bytes from which on huge pages are requested for shared memory, as NumPy does for its own arrays.
_HUGE_PAGES_FROM = 1 << 22


def arrange(stores: Sequence[Store], spare: int = 0) -> tuple[dict[Store, int], int]:
    """Return the offset of each store and the size of the arena, in bytes.

    If it costs at most ``spare`` bytes more, stores are centered in lanes: then the halves of stores that follow each
    other in a lane lie in the same half of it.  Two workers that each write and read their half of tensors keep to
    their own cache lines; writing lines that another core has read takes about ten times as long.
    """
    dense = _by_size(stores)
    if spare:
        centered = _place_centered(stores)
        if centered[1] <= dense[1] + spare:
            return centered
    return dense


def _place_centered(stores: Sequence[Store]) -> tuple[dict[Store, int], int]:
    """Place each store in the middle of the first lane that is free, from the largest to the smallest."""
    lanes: list[list[Store]] = []
    for store in sorted(stores, key=lambda s: (-s.nbytes, s.first)):
        free = (lane for lane in lanes if all(o.last < store.first or store.last < o.first for o in lane))
        lane = next(free, None)
        if lane is None:
            lanes.append([store])
        else:
            lane.append(store)
    offsets: dict[Store, int] = {}
    start = 0
    for lane in lanes:
        width = _padded_bytes(lane[0])
        offsets.update((store, start + (width - _padded_bytes(store)) // (2 * ALIGNMENT) * ALIGNMENT) for store in lane)
        start += width
    return offsets, start


def _by_size(stores: Sequence[Store]) -> tuple[dict[Store, int], int]:
    """Place stores from the largest to the smallest, each at the lowest offset that is free throughout its lifetime.

    Greedy by size; Pisarchyk & Lee 2020, arXiv:2001.03288.
    """
    offsets: dict[Store, int] = {}
    placed: list[tuple[int, int, Store]] = []  # (start, end, store), by start
    total = 0
    for store in sorted(stores, key=lambda s: (-s.nbytes, s.first)):
        size = _padded_bytes(store)
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


def _padded_bytes(store: Store) -> int:
    """Return the bytes that a store takes."""
    return -(-store.nbytes // ALIGNMENT) * ALIGNMENT


def aligned(nbytes: int) -> Array:
    """Return ``nbytes`` of uninitialized memory that starts at a multiple of :data:`ALIGNMENT`."""
    memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes]


def shared(nbytes: int) -> Array:
    """Return ``nbytes`` of memory that this process shares with those forked from it."""
    memory = mmap.mmap(-1, max(nbytes, 1))
    if nbytes >= _HUGE_PAGES_FROM and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, nbytes)
