"""Constants of a plan, loaded by several threads: reading, copying and packing release the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from threading import Lock, Thread
from typing import TypeAlias

import numpy as np

from netcalc.engine.arena import aligned
from netcalc.engine.runtime.workers import numpy_settings
from netcalc.engine.step import Constant
from netcalc.weights.stored import kept_open

#: Called after each constant is loaded, with the number loaded so far.
Loaded: TypeAlias = Callable[[int], None]
#: Bytes of the constants that justify one more thread.
_BYTES_PER_THREAD = 8 << 20
#: Threads, at most: each may hold a parameter beside what is made of it, and a few take all that memory gives.
_MOST_THREADS = 4


def load_constants(
    constants: Sequence[Constant],
    reading: Callable[[], AbstractContextManager[None]],
    threads: int,
    loaded: Loaded | None,
) -> None:
    """Load constants, the first ones first, within the context of ``reading``.

    If some cannot be loaded, the error is that of the first of them.  ``loaded`` is called by this thread alone.
    """
    work = _Work(constants)
    needed = sum(constant.slot.store.nbytes for constant in constants) // _BYTES_PER_THREAD
    # the contexts of before, in which no files are held open: each thread holds its own
    contexts = [copy_context() for _ in range(min(threads, needed + 1, _MOST_THREADS) - 1)]
    with reading():
        helpers = [Thread(target=context.run, args=(_help, work), daemon=True) for context in contexts]
        for helper in helpers:
            helper.start()
        try:
            work.load(loaded)
        finally:
            work.stop()
            for helper in helpers:
                helper.join()
    if work.errors:
        raise work.errors[min(work.errors)]
    if loaded is not None:
        loaded(len(constants))


class _Work:
    """Constants that several threads load, each the next one that none has begun."""

    def __init__(self, constants: Sequence[Constant]) -> None:
        self._constants = constants
        self._lock = Lock()
        self._begun = self._done = 0
        #: Errors by the number of the constant.
        self.errors: dict[int, Exception] = {}

    def load(self, loaded: Loaded | None) -> None:
        """Load constants until all are begun, or one cannot be loaded."""
        while (number := self._begin()) is not None:
            try:
                _load(self._constants[number])
            except Exception as error:
                self.errors[number] = error
                self.stop()
                return
            with self._lock:
                self._done += 1
            if loaded is not None and self._done < len(self._constants):
                loaded(self._done)

    def stop(self) -> None:
        """Let no thread begin another constant."""
        with self._lock:
            self._begun = len(self._constants)

    def _begin(self) -> int | None:
        with self._lock:
            if self._begun == len(self._constants):
                return None
            self._begun += 1
            return self._begun - 1


def _help(work: _Work) -> None:
    with kept_open(), numpy_settings():
        work.load(None)


def _load(constant: Constant) -> None:
    slot = constant.slot
    if constant.load is not None:
        slot.store.memory = np.ascontiguousarray(constant.load(), slot.dtype).reshape(-1).view(np.uint8)
    elif constant.fill is not None:
        slot.store.memory = aligned(slot.store.nbytes)
        constant.fill(slot.array())
