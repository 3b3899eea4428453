"""How much memory this process holds, and the most that it has held."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import psutil

__all__ = ["Growth"]


class Growth(NamedTuple):
    """What the process held at some time, and the most until then."""

    resident: int
    peak: int

    @classmethod
    def start(cls) -> Growth:
        """From now on."""
        return cls(int(psutil.Process().memory_info().rss), _peak())

    def most(self) -> int | None:
        """The most bytes held since, beyond what was held then; None if more had been held before."""
        peak = _peak()
        return peak - self.resident if peak > self.peak else None


def _peak() -> int:
    """The most bytes that this process has held."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        # ru_maxrss would begin with what the parent held when it started this process
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return int(psutil.Process().memory_info().peak_wset)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
