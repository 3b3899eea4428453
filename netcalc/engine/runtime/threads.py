"""Thread pool: workers that share one interpreter.  NumPy releases its lock inside its loops."""

from __future__ import annotations

import os
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Thread
from weakref import finalize

from netcalc.engine.runtime.workers import BindParts, CallerOnly, Part, numpy_settings


class ThreadPool(CallerOnly):
    """``count`` threads, including the caller.

    An interrupt, such as KeyboardInterrupt, may leave a phase before its parts have ended.  The pool is then not alive,
    and :meth:`close` waits for them.
    """

    private_bytes = 0

    def __init__(self, bind: BindParts, count: int) -> None:
        self._parts = [bind(number) for number in range(1, count)]
        self._queues: list[SimpleQueue[Part | None]] = [SimpleQueue() for _ in range(count - 1)]
        self._finished: SimpleQueue[BaseException | None] = SimpleQueue()
        self._owner = os.getpid()
        self._idle = True
        self._threads = [
            Thread(target=_run_worker, args=(queue, self._finished), daemon=True) for queue in self._queues
        ]
        self._stop = finalize(self, _stop, self._queues)
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """True if all workers wait for a phase; a forked copy of the process has none."""
        return self._idle and self._owner == os.getpid()

    def close(self) -> None:
        """Wait until the workers have ended their parts, and end them."""
        self._stop()
        if self._owner == os.getpid():
            for thread in self._threads:
                thread.join()

    def run(self, phase: int, own_part: Part, workers: int) -> None:
        """Run all parts of a phase; raise the first exception once all parts have ended."""
        self._idle = False
        for queue, parts in zip(self._queues[:workers], self._parts, strict=False):
            queue.put(parts[phase])
        errors: list[BaseException | None] = []
        try:
            own_part()
        except BaseException as error:
            errors.append(error)
        errors += [self._finished.get() for _ in range(workers)]
        self._idle = True
        first = next((error for error in errors if error is not None), None)
        if first is not None:
            raise first


def _run_worker(queue: SimpleQueue[Part | None], finished: SimpleQueue[BaseException | None]) -> None:
    """Worker thread main loop; None ends it."""
    with numpy_settings():
        while (part := queue.get()) is not None:
            try:
                part()
            except BaseException as error:
                finished.put(error)
            else:
                finished.put(None)


def _stop(queues: Sequence[SimpleQueue[Part | None]]) -> None:
    for queue in queues:
        queue.put(None)
