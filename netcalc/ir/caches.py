"""Caches of decoding: inputs of a step that the step before it has as outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from netcalc.dims import Dim


class Cache(NamedTuple):
    """An input, and the output that is this input in the next step.

    ``axis`` is the axis of the positions, along which it grows with each step; None for a state, whose size is fixed.
    ``window`` is the number of positions that a query sees, its own included, None if it sees all of them.  A first
    step has no such input: the program then has the output only.  The keys and values of an encoder are outputs of the
    first step only, and the same inputs in all later ones.
    """

    input: str
    output: str
    axis: int | None = None
    window: Dim | None = None


@dataclass(frozen=True, slots=True)
class Caches:
    """The caches of a network that decodes step by step.

    ``past`` names the dim that counts the positions of earlier steps, and ``new`` the dim that counts the positions of
    a step; None if the spec declares no such dim.
    """

    past: str | None = None
    new: str | None = None
    entries: tuple[Cache, ...] = ()
