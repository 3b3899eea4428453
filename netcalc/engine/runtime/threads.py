"""Threads as workers: NumPy lets go of the interpreter inside its loops."""

from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from threading import Thread
from weakref import finalize

from netcalc.engine.runtime.workers import Part, Parts, quick_loops

__all__ = ["Threads"]


class Threads:
    """``count`` threads, the calling one among them."""

    def __init__(self, parts: Parts, count: int) -> None:
        self._parts = [parts(number) for number in range(1, count)]
        self._queues: list[SimpleQueue[Part | None]] = [SimpleQueue() for _ in range(count - 1)]
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        for queue in self._queues:
            Thread(target=_work, args=(queue, self._done), daemon=True).start()
        finalize(self, _stop, self._queues)

    alive = True
    held = 0

    def run(self, phase: int, own: Part, others: int) -> None:
        """Does all parts of a phase; raises what the first to fail did, once all have ended."""
        for queue, parts in zip(self._queues[:others], self._parts, strict=False):
            queue.put(parts[phase])
        errors: list[BaseException | None] = []
        try:
            own()
        except BaseException as error:
            errors.append(error)
        errors += [self._done.get() for _ in range(others)]
        first = next((error for error in errors if error is not None), None)
        if first is not None:
            raise first


def _work(queue: SimpleQueue[Part | None], done: SimpleQueue[BaseException | None]) -> None:
    with quick_loops():
        while (part := queue.get()) is not None:
            try:
                part()
            except BaseException as error:
                done.put(error)
            else:
                done.put(None)


def _stop(queues: Sequence[SimpleQueue[Part | None]]) -> None:
    for queue in queues:
        queue.put(None)
