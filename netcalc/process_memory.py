"""Memory of this process: bytes that can still be allocated, and resident bytes at their peak."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_MACHINE = Path("/proc/meminfo")
_PROCESS = Path("/proc/self/status")


def free_bytes() -> int:
    """Return the bytes that this process can still allocate.

    The machine's available memory, every control group and the limit on the address space (``ulimit -v``) count.
    """
    return max(0, min([_machine_available(), *_cgroups_available(), *_address_space_available()]))


def format_bytes(count: int) -> str:
    """Return a number of bytes as text, in a unit that fits its size.

    >>> format_bytes(6_576_000_000)
    '6.12 GiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.2f} GiB"


def _machine_available() -> int:
    """Return the bytes that the machine has left; without /proc, cached file pages count as used."""
    available = _kibibytes(_MACHINE, "MemAvailable:")
    if available is not None:
        return available
    import psutil  # Linux does without, and its import takes two megabytes

    try:
        return int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _usage(figure: Literal["rss", "vms"]) -> int | None:
    """Return the resident bytes or the address space of this process, or None if they are unknown."""
    size = _kibibytes(_PROCESS, {"rss": "VmRSS:", "vms": "VmSize:"}[figure])
    if size is not None:
        return size
    import psutil

    try:
        memory = psutil.Process().memory_info()
    except (OSError, psutil.Error):
        return None
    return int(memory.rss if figure == "rss" else memory.vms)


def _kibibytes(file: Path, field: str) -> int | None:
    """Return the bytes that a file of /proc gives in kibibytes under a name; None without the file or the name."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)


def _cgroups_available() -> Iterator[int]:
    """Yield the bytes left in each control group of this process; cached file pages count as free."""
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
            available = _cgroup_available(group, limit, used, file_key)
            if available is not None:
                yield available
            if group == root:
                break


def _cgroup_available(group: Path, limit: str, used: str, file_key: str) -> int | None:
    try:
        maximum = (group / limit).read_text().strip()
        current = int((group / used).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return None if maximum == "max" else int(maximum) - current + int(stat.get(file_key, 0))


def _address_space_available() -> Iterator[int]:
    """Yield the bytes left of the address space that ``ulimit -v`` grants, if it is limited."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        yield soft - (_usage("vms") or 0)


class MemoryBaseline(NamedTuple):
    """Resident bytes of this process at one moment, None if unknown, and their peak until then."""

    resident: int | None
    peak: int

    @classmethod
    def now(cls) -> MemoryBaseline:
        """Return the baseline at this moment."""
        return cls(_usage("rss"), _peak())

    def peak_increase(self) -> int | None:
        """Return the peak since the baseline, in bytes above it; None if unknown, or if an earlier one was higher."""
        peak = _peak()
        return peak - self.resident if self.resident is not None and peak > self.peak else None


def _peak() -> int:
    """Return the peak of this process's resident bytes."""
    peak = _kibibytes(_PROCESS, "VmHWM:")  # not ru_maxrss, which a child process inherits from its parent
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
