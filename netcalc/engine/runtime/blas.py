"""The number of threads of BLAS, which most libraries have once for the whole process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident

from threadpoolctl import LibController, ThreadpoolController


class _BlasThreads:
    """Numbers of BLAS threads that passes ask for, each with the Python thread that runs the pass.

    Passes that overlap share the smallest of their numbers.  The number from before the first of them is restored
    after the last.  Libraries that use OpenMP have a number for each Python thread.
    """

    def __init__(self) -> None:
        libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        self._by_thread = [library for library in libraries if getattr(library, "threading_layer", None) == "openmp"]
        self._common = [library for library in libraries if library not in self._by_thread]
        self._asked: list[tuple[int, int]] = []
        self._before: list[int] = []
        self._in_force: int | None = None
        self._lock = Lock()

    @contextmanager
    def at_most(self, count: int) -> Iterator[None]:
        """Limit BLAS to ``count`` threads within the context."""
        asked = get_ident(), count
        own = [library.num_threads for library in self._by_thread]
        with self._lock:
            self._asked.append(asked)
            self._apply()
        try:
            for library in self._by_thread:
                library.set_num_threads(count)
            yield
        finally:
            for library, before in zip(self._by_thread, own, strict=True):
                library.set_num_threads(before)
            with self._lock:
                self._asked.remove(asked)
                self._apply()

    def forget_other_threads(self) -> None:
        """Forget, in a forked copy of the process, what threads asked for that the copy lacks."""
        self._lock = Lock()
        self._asked = [asked for asked in self._asked if asked[0] == get_ident()]

    def _apply(self) -> None:
        """Set the number of threads of the common libraries to the smallest that is asked for, or to the former one."""
        least = min((count for _, count in self._asked), default=None)
        if least == self._in_force:
            return
        if self._in_force is None:
            self._before = [library.num_threads for library in self._common]
        for library, before in zip(self._common, self._before, strict=True):
            _set_number(library, before if least is None else least)
        self._in_force = least


def _set_number(library: LibController, count: int) -> None:
    """Set the number of threads, from any Python thread: threadpoolctl ignores calls of all but one."""
    release = getattr(library, "clear_controlling_thread", None)
    if release is None:  # older versions let every thread set it
        library.set_num_threads(count)
        return
    release(force=True)
    library.set_num_threads(count)
    release(force=True)


_shared = _BlasThreads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.forget_other_threads)
#: Limit the number of BLAS threads within a context: ``with blas_threads(2): …``.
blas_threads = _shared.at_most
