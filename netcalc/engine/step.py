"""Steps of a plan, and the independent jobs that each consists of."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.arena import ALIGNMENT
from netcalc.engine.graph import GraphNode
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning

#: A part of a step, bound to its arrays.  The job of a step with rounds is called with the number of the round.
Job: TypeAlias = Callable[..., None]
#: Returns the job of a number, given the scratch buffers of its worker.  Called once, after memory is allocated.
Bind: TypeAlias = Callable[[int, "Buffers"], Job]
#: Elements and type of a scratch buffer: a job may write to it, and nothing reads it after the job.
BufferSpec: TypeAlias = tuple[int, np.dtype[Any]]


class Buffers:
    """Scratch buffers of a worker for a step, by name.

    ``shared`` caches objects that the jobs of the worker share.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays
        self.shared: dict[Hashable, Any] = {}

    def __getitem__(self, name: str) -> Array:
        """Return a buffer, which is flat."""
        return self._arrays[name]

    def view(self, name: str, shape: Sequence[int]) -> Array:
        """Return the first elements of a buffer in this shape."""
        return self._arrays[name][: math.prod(shape)].reshape(shape)


@dataclass(eq=False, slots=True)
class Constant:
    """An array that is derived from parameters once, before the first pass.

    Either ``load`` returns a parameter as it is, whose memory is used without a copy; or ``fill`` writes the elements
    into allocated memory, so that the parameters that it is derived from can be freed.
    """

    slot: Slot
    load: Callable[[], Array] | None = None
    fill: Callable[[Array], None] | None = None


@dataclass(eq=False, slots=True)
class Step:
    """A step of ``jobs`` independent jobs, which read and write slots.

    With ``rounds`` every job is called once in each round, with the number of the round; a round may depend on all jobs
    of the round before.
    """

    node: GraphNode
    reads: Sequence[Slot]
    writes: Sequence[Slot]
    jobs: int
    bind: Bind
    scratch: Mapping[str, BufferSpec] = field(default_factory=dict)
    rounds: int | None = None
    #: True if the jobs are matrix products.  With threads they run one after the other, each on all threads of BLAS,
    #: which synchronize within microseconds where Python threads need tens of them.  Processes share them as any jobs.
    products: bool = False
    #: Most bytes that a reference kernel allocates, its results included.
    temporary: int = 0
    #: True if the step is run once, when the parameters are loaded.
    constant: bool = False
    #: Name in a profile; the name of the operation if empty.
    what: str = field(default="")

    def workers(self, threads: int, processes: bool, tuning: Tuning) -> int:
        """Return the number of workers, threads or processes, among which the jobs are shared."""
        if processes:
            return min(threads, self.jobs)
        large = sum(slot.elements for slot in self.writes) >= tuning.threaded_step_elements
        return min(threads, self.jobs) if large and not self.products else 1

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch of one worker."""
        return sum(_padded_elements(spec) for spec in self.scratch.values())

    def buffers(self, memory: Array) -> Buffers:
        """Return the scratch buffers of a worker, as views of its memory."""
        arrays, start = {}, 0
        for name, (elements, dtype) in self.scratch.items():
            arrays[name] = np.ndarray(elements, dtype, memory, start)
            start += _padded_elements((elements, dtype))
        return Buffers(arrays)


def _padded_elements(spec: BufferSpec) -> int:
    elements, dtype = spec
    return -(-elements * dtype.itemsize // ALIGNMENT) * ALIGNMENT


def cuts(total: int, pieces: int, unit: int = 1) -> list[tuple[int, int]]:
    """Return (start, stop) of nearly equal pieces of ``range(total)``, at most ``pieces`` of them, none empty.

    They start at multiples of ``unit`` if ``total`` has one for each piece.
    """
    pieces = max(1, min(pieces, total))
    unit = unit if pieces * unit <= total else 1
    ends = [total // unit * i // pieces * unit for i in range(pieces)]
    return list(pairwise([*ends, total]))
