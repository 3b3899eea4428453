"""Steps of time that tables list."""

from __future__ import annotations


def distances(steps: int) -> list[int]:
    """Return the distances from the last step that a table lists: 0, 1, 2, 5, 10, … and that of the first step."""
    return [d for d in range(steps) if d == steps - 1 or str(d).rstrip("0") in ("", "1", "2", "5")]
