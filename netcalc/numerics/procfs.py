"""What Linux says of the machine and of this process, which is quicker to read than a library is to import."""

from __future__ import annotations

from pathlib import Path

__all__ = ["machine_bytes", "process_bytes"]


def machine_bytes(key: str) -> int | None:
    """A line of ``/proc/meminfo`` such as ``MemAvailable``; None where there is none."""
    return _bytes("/proc/meminfo", key)


def process_bytes(key: str) -> int | None:
    """A line of ``/proc/self/status`` such as ``VmRSS``; None where there is none."""
    return _bytes("/proc/self/status", key)


def _bytes(file: str, key: str) -> int | None:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), None)
