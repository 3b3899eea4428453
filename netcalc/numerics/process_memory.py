"""Memory of this process: the bytes it may still allocate, and the bytes it has held."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

__all__ = ["Growth", "free_bytes", "gibibytes"]

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def free_bytes() -> int:
    """Bytes that this process can allocate before the machine, its control group or its own limit stops it."""
    available: int = psutil.virtual_memory().available
    return max(0, min([available, *_cgroup_rooms(), *_limit_room()]))


def gibibytes(count: int) -> str:
    """A number of bytes for people, in the unit that suits it.

    >>> gibibytes(6_576_000_000)
    '6.12 GiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.2f} GiB"


def _cgroup_rooms() -> Iterator[int]:
    """What is left in each control group that this process is in, files that can be dropped counted as free."""
    try:
        groups = _MEMBERSHIP.read_text().splitlines()
    except OSError:
        return
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2: one tree
            root, limit, used, file_key = _CGROUPS, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, limit, used = _CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            file_key = "total_inactive_file"
        else:
            continue
        here = root / path.lstrip("/")
        for group in (here, *here.parents):
            room = _room(group, limit, used, file_key)
            if room is not None:
                yield room
            if group == root:
                break


def _room(group: Path, limit: str, used: str, file_key: str) -> int | None:
    try:
        most = (group / limit).read_text().strip()
        taken = int((group / used).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return None if most == "max" else int(most) - taken + int(stat.get(file_key, 0))


def _limit_room() -> Iterator[int]:
    """What is left of the address space that ``ulimit -v`` grants."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        yield soft - psutil.Process().memory_info().vms


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
