"""A few threads that do their parts of a step side by side; NumPy lets go of the interpreter inside its loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias
from weakref import finalize

import numpy as np

__all__ = ["Part", "Workers", "quick_loops"]

Part: TypeAlias = Callable[[], None]

#: Elements of NumPy's buffer.  Loops over strided arrays are cut to it even where nothing is buffered; with the
#: default, 8192, they take up to twice the time.
_BUFFER = 512


@contextmanager
def quick_loops() -> Iterator[None]:
    """Infinities and NaNs are values here, not warnings, and loops over rows start quickly."""
    with np.errstate(all="ignore"):
        before = np.setbufsize(_BUFFER)
        try:
            yield
        finally:
            np.setbufsize(before)


class Workers:
    """``count`` threads, the calling one among them; they end with the object."""

    def __init__(self, count: int) -> None:
        self._queues: list[SimpleQueue[Part | None]] = [SimpleQueue() for _ in range(count - 1)]
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        for queue in self._queues:
            Thread(target=_work, args=(queue, self._done), daemon=True).start()
        finalize(self, _stop, self._queues)

    def run(self, parts: Sequence[Part]) -> None:
        """Does all parts, at most one a thread; raises what the first to fail did, once all have ended."""
        for queue, part in zip(self._queues, parts[1:], strict=False):
            queue.put(part)
        errors: list[BaseException | None] = []
        try:
            parts[0]()
        except BaseException as error:
            errors.append(error)
        errors += [self._done.get() for _ in parts[1:]]
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
