"""Names that nothing else has."""

from __future__ import annotations

from collections.abc import Collection


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number if something else has it.

    >>> free_name("weight", {"weight", "weight_1"})
    'weight_2'
    """
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
