"""Child processes of the test process."""

from __future__ import annotations

import psutil


def child_processes() -> set[int]:
    """Return the process ids of the running children of this process."""
    return {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}
