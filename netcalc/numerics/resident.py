"""How much memory this process holds, and the most that it has held."""

from __future__ import annotations

import sys
from typing import NamedTuple

from netcalc.numerics.procfs import process_bytes

__all__ = ["Growth"]


class Growth(NamedTuple):
    """What the process held at some time, and the most until then."""

    resident: int
    peak: int

    @classmethod
    def start(cls) -> Growth:
        """From now on."""
        return cls(_held(), _peak())

    def most(self) -> int | None:
        """The most bytes held since, beyond what was held then; None if more had been held before."""
        peak = _peak()
        return peak - self.resident if peak > self.peak else None


def _held() -> int:
    """The bytes that this process holds."""
    found = process_bytes("VmRSS")
    if found is None:
        import psutil

        found = int(psutil.Process().memory_info().rss)
    return found


def _peak() -> int:
    """The most bytes that this process has held."""
    found = process_bytes("VmHWM")  # ru_maxrss would begin with what the parent held when it started this process
    if found is not None:
        return found
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
