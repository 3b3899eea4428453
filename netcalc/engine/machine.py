"""The machine that netcalc runs on, as a device: its peak and its bandwidths, measured with NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

from netcalc.amounts import size_in_bytes
from netcalc.analysis.devices import Device

#: Rows of the square matrices whose products are measured: the fastest counts.
_ROWS = (512, 1024, 2048)
#: Seconds for which each measurement is repeated; the fastest repetition counts.
_SECONDS = 0.15
#: Bytes of the arrays of a thread that its own caches hold.
_OWN_CACHE = 1 << 18
#: Most bytes of the arrays that are copied in memory.
_MOST_COPIED = 1 << 30
_LAST_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_MEASURED = "measured with NumPy"


@cache
def this_machine() -> Device:
    """Return the machine as a device, measured at the first call, which takes a few seconds.

    Peaks are of matrix products with the threads of BLAS, bandwidths of copies and dot products with a thread for each
    processor.  Each is the fastest of several, so that times that follow from them are lower bounds.
    """
    single, double = _peak(np.float32), _peak(np.float64)
    shared, memory = _last_cache(), _memory()
    # four times the cache, so that hardly any of it is still there when it is read again
    size = min(4 * (shared or 1 << 26), _MOST_COPIED, memory // 8 if memory else _MOST_COPIED)
    computed = f"{_MEASURED}; float16 and bfloat16 are computed in float32"
    sources = {
        "peaks": computed,
        "bandwidth": _MEASURED,
        "cache_bandwidth": f"{_MEASURED}, in the caches of the cores",
        **({"cache": "the operating system"} if shared else {}),
        **({"memory": "the operating system"} if memory else {}),
    }
    return Device(
        "this",
        "this machine",
        memory,
        bandwidth=_bandwidth(size // _threads()),
        peaks={"float64": double, "float32": single, "bfloat16": single, "float16": single},
        cache=shared,
        cache_bandwidth=_bandwidth(_OWN_CACHE),
        sources=sources,
    )


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _peak(dtype: type[np.floating]) -> int:
    """Return the FLOP/s of the fastest product of two square matrices."""

    def speed(rows: int) -> float:
        left, right = np.ones((rows, rows), dtype), np.ones((rows, rows), dtype)
        out = np.empty_like(left)
        return 2 * rows**3 / _fastest(lambda: np.matmul(left, right, out=out))

    return int(max(map(speed, _ROWS)))


def _bandwidth(size: int) -> int:
    """Return the bytes a second that all threads read and write together in arrays of so many bytes each."""
    threads, elements = _threads(), max(size // 8, 1)
    sources = [np.ones(elements, np.float32) for _ in range(threads)]
    targets = [np.ones(elements, np.float32) for _ in range(threads)]
    # short passes are repeated in a thread, since handing one to it takes as long
    times = max(1, (1 << 24) // (8 * elements))

    def copied(number: int) -> None:
        for _ in range(times):
            np.copyto(targets[number], sources[number])

    def multiplied(number: int) -> None:
        for _ in range(times):
            np.dot(targets[number], sources[number])

    with ThreadPoolExecutor(threads) as pool:
        seconds = min(
            _fastest(lambda: list(pool.map(copied, range(threads)))),
            _fastest(lambda: list(pool.map(multiplied, range(threads)))),
        )
    return int(threads * times * 8 * elements / seconds)


def _fastest(run: Callable[[], object]) -> float:
    """Return the seconds of the fastest of the runs that fit into a time."""
    run()
    fastest, end = float("inf"), perf_counter() + _SECONDS
    while True:
        start = perf_counter()
        run()
        now = perf_counter()
        fastest = min(fastest, now - start)
        if now > end:
            return fastest


def _memory() -> int | None:
    """Return the bytes of the machine's memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _last_cache() -> int | None:
    """Return the bytes of the largest cache of the first processor; None where the system does not tell."""
    try:
        texts = [file.read_text(encoding="ascii").strip() + "iB" for file in _LAST_CACHES.glob("index*/size")]
    except OSError:
        return None
    return max((size for text in texts if (size := size_in_bytes(text))), default=None)
