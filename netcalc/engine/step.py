"""What a plan consists of: steps, cut into jobs that may run side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.arena import ALIGNMENT
from netcalc.engine.graph import Node
from netcalc.engine.storage import Slot
from netcalc.numerics.kernels import Array

__all__ = ["Bind", "Constant", "Job", "Scratch", "Scratches", "Step", "cuts", "sharers", "workers"]

#: Elements of a pass, and multiply-adds of a product, that are worth one more worker.
CUT, WORK = 1 << 12, 1 << 16

#: Elements of a result from which on threads that wake up are worth the wait.
_SHARED = 1 << 19

#: A part of a step, all of whose arrays are at hand; called with the number of the round where a step has rounds.
Job: TypeAlias = Callable[..., None]
#: Makes the job of that number, given its worker's scratch arrays; called once, when there is memory.
Bind: TypeAlias = Callable[[int, "Scratches"], Job]
#: Shape and type of an array that a job may write to and nobody reads afterwards.
Scratch: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]


class Scratches(list[Array]):
    """A worker's scratch arrays for a step, and what its jobs have in common."""

    def __init__(self, arrays: Iterable[Array]) -> None:
        super().__init__(arrays)
        self.common: dict[Hashable, Any] = {}


@dataclass(eq=False, slots=True)
class Constant:
    """An array that is made once, from parameters, before the first run.

    Either ``load`` gives it, a parameter as it is, which stays where it was loaded; or ``fill`` sets its elements, so
    that nothing keeps the pieces alive that it is made from.
    """

    slot: Slot
    load: Callable[[], Array] | None = None
    fill: Callable[[Array], None] | None = None


@dataclass(eq=False, slots=True)
class Step:
    """One step: ``jobs`` parts, none of which depends on another.

    With ``rounds`` all jobs are called so often, with the number of the round, and a round may depend on all jobs of
    the one before.
    """

    node: Node
    reads: Sequence[Slot]
    writes: Sequence[Slot]
    jobs: int
    bind: Bind
    scratch: Sequence[Scratch] = ()
    rounds: int | None = None
    #: Whether the jobs are products, within which BLAS shares the work among its own threads, which wait for each other
    #: for a few microseconds where Python's take tens: then they are done in turn, unless processes share them.
    products: bool = False
    #: Bytes that its kernel allocates for itself.
    temporary: int = 0
    #: Run once, when the parameters are loaded.
    constant: bool = False
    what: str = field(default="")

    def shares(self, threads: int, processes: bool) -> int:
        """Among how many of the threads, or processes, its jobs are shared."""
        if processes:
            return min(threads, self.jobs)
        large = sum(slot.elements for slot in self.writes) >= _SHARED
        return min(threads, self.jobs) if large and not self.products else 1

    @property
    def scratch_bytes(self) -> int:
        """The scratch of one thread."""
        return sum(_padded(spec) for spec in self.scratch)

    def scratch_arrays(self, memory: Array) -> Scratches:
        """The scratch arrays in a worker's memory."""
        arrays, start = [], 0
        for shape, dtype in self.scratch:
            arrays.append(np.ndarray(shape, dtype, memory, start))
            start += _padded((shape, dtype))
        return Scratches(arrays)


def _padded(spec: Scratch) -> int:
    shape, dtype = spec
    return -(-math.prod(shape) * dtype.itemsize // ALIGNMENT) * ALIGNMENT


def workers(elements: int, threads: int) -> int:
    """How many of the threads a pass over so many elements is cut for.

    >>> workers(10_000, 16), workers(1_000_000, 16), workers(10, 16)
    (2, 16, 1)
    """
    return max(1, min(threads, elements // CUT))


def sharers(macs: int, shares: int) -> int:
    """Into how many of the shares a product of so many multiply-adds is cut."""
    return max(1, min(shares, macs // WORK))


def cuts(total: int, pieces: int, unit: int = 1) -> list[tuple[int, int]]:
    """(start, stop) of that many pieces of ``range(total)``, nearly equal, none of them empty.

    They start at multiples of ``unit`` if there are as many.
    """
    pieces = max(1, min(pieces, total))
    unit = unit if pieces * unit <= total else 1
    ends = [total // unit * i // pieces * unit for i in range(pieces)]
    return list(pairwise([*ends, total]))
