"""Sweeps as they run: chunks of a plan, evaluated in any order by processes that may be lost, yielded in order."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from math import ceil
from time import perf_counter

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.sweep.backends import Pool, opened
from netcalc.sweep.parts import Folder, missing_places
from netcalc.sweep.plan import Plan
from netcalc.sweep.recipe import Chunk, Evaluation, Recipe

#: Points of the first chunks.
_FIRST = 32
#: Most points of a chunk.
_MOST = 1 << 16
#: Seconds that a chunk should take: long beside its way to a worker and back, short beside the sweep.
_SECONDS = 2.0
#: Seconds that a chunk should take at least, also the last one.
_SHORTEST = 0.1
#: Chunks that each worker should still have before it at any time, so that all end together.
_LEFT = 4

Progress = Callable[[int, int], None]


def run(
    recipe: Recipe,
    plan: Plan,
    *,
    workers: int | None = None,
    on: str | None = None,
    folder: Folder | None = None,
    progress: Progress | None = None,
) -> Iterator[Chunk]:
    """Return the chunks of a plan in its order, while they are evaluated.

    Args:
        recipe: the spec, and what is counted.
        plan: the points.
        workers: number of processes; None for this process alone, and on a cluster for all of its workers.
        on: address of a cluster.
        folder: where chunks are written as they end; those in it already are not evaluated again.
        progress: function that is called with the number of points done and of all points.

    Raises:
        NetcalcError: E502, before any work, for a cluster that cannot be used; while it runs, E603 if workers end again
            and again, as for lack of memory, and E502 if a part cannot be written.
    """
    stack = ExitStack()
    pool = stack.enter_context(opened(workers, on))
    if folder is not None:
        folder.make()
    return _run(stack, _Sweep(recipe, plan, pool, folder), progress)


def _run(stack: ExitStack, sweep: _Sweep, progress: Progress | None) -> Iterator[Chunk]:
    with stack:
        yield from sweep.chunks(progress)


class _Sweep:
    """Chunks that have been evaluated, and those still to be."""

    def __init__(self, recipe: Recipe, plan: Plan, pool: Pool, folder: Folder | None) -> None:
        self._recipe = recipe
        self._total = len(plan)
        self._pool = pool
        self._folder = folder
        #: Places of the points that have been evaluated, in their order.
        self._finished: list[range] = [] if folder is None else [*folder.finished]
        #: Chunks that wait for earlier ones, by their first places; None for those in the folder.
        self._waiting: dict[int, tuple[range, Chunk | None]] = {
            places.start: (places, None) for places in self._finished
        }
        self._next = 0
        self._rate = 0.0
        #: Seconds that a chunk should take; less while it is not known if processes are started.
        self._seconds = min(_SECONDS, pool.start / 4) if pool.start else _SECONDS

    def chunks(self, progress: Progress | None) -> Iterator[Chunk]:
        """Yield the chunks in the order of the plan."""
        self._tell(progress)
        yield from self._in_order()
        for chunk in self._evaluated():
            places = range(chunk.start, chunk.stop)
            if self._folder is not None:
                self._folder.write(chunk)
            insort(self._finished, places, key=lambda finished: finished.start)
            is_held = self._folder is None or chunk.start == self._next
            self._waiting[chunk.start] = (places, chunk if is_held else None)
            self._tell(progress)
            yield from self._in_order()

    def _tell(self, progress: Progress | None) -> None:
        if progress is not None:
            progress(sum(map(len, self._finished)), self._total)

    def _in_order(self) -> Iterator[Chunk]:
        """Yield the waiting chunks that follow those already yielded."""
        while self._next in self._waiting:
            places, chunk = self._waiting.pop(self._next)
            if chunk is None:
                assert self._folder is not None
                chunk = self._folder.read(places)
            self._next = places.stop
            yield chunk

    def _evaluated(self) -> Iterator[Chunk]:
        """Yield the missing chunks as they end, in any order; chunks of lost workers are evaluated again.

        Raises:
            NetcalcError: E603 if workers are lost while no chunk ends.
        """
        yield from self._evaluated_here()
        self._seconds = _SECONDS
        while missing := missing_places(self._finished, self._total):
            before = len(self._finished)
            try:
                for evaluation in self._pool.evaluated(self._recipe, self._sized(missing)):
                    yield self._measured(evaluation)
            except self._pool.losses as error:
                if len(self._finished) > before:
                    continue
                said = str(error).strip().partition("\n")[0]
                message = f"the workers were lost again before they evaluated a chunk: {said}"
                hint = "fewer --workers need less memory; --resume continues the sweep"
                raise NetcalcError(Diagnostic("E603", message, hint=hint)) from None

    def _evaluated_here(self) -> Iterator[Chunk]:
        """Yield chunks that this process evaluates before further ones are started, which short sweeps do not need.

        The first second says how long the sweep will take; the others start while this process goes on.
        """
        begin = perf_counter()
        missing = missing_places(self._finished, self._total) if self._pool.start else []
        left = sum(map(len, missing))
        for places in self._sized(missing):
            if perf_counter() - begin > self._pool.start / 2 and left > 2 * self._pool.start * self._rate:
                return
            yield self._measured(self._recipe.evaluated(places.start, places.stop))
            left -= len(places)

    def _measured(self, evaluation: Evaluation) -> Chunk:
        """Return the chunk of an evaluation, after its rate has been noted."""
        rate = len(evaluation.chunk.reasons) / max(evaluation.seconds, 1e-6)
        self._rate = (self._rate + rate) / 2 if self._rate else rate
        return evaluation.chunk

    def _sized(self, missing: Iterable[range]) -> Iterator[range]:
        """Yield the places of chunks, each of the size that suits the rate known when it is taken."""
        left = sum(map(len, missing))
        for places in missing:
            start = places.start
            while start < places.stop:
                stop = min(start + self._size(left), places.stop)
                yield range(start, stop)
                left -= stop - start
                start = stop

    def _size(self, left: int) -> int:
        if not self._rate:
            return _FIRST
        share = ceil(left / (_LEFT * self._pool.workers)) if self._pool.workers > 1 else left
        return max(1, min(int(self._rate * self._seconds), max(share, int(self._rate * _SHORTEST)), _MOST))
