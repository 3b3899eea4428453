"""How much memory this process may still take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

__all__ = ["free_bytes", "gibibytes"]

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
