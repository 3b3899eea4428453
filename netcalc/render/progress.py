"""One line on standard error that says how far a long run has come; only on a terminal, and gone at the end."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

from netcalc.render.text import clean, width_of

__all__ = ["Progress"]

_PATIENCE = 1.0  # seconds before anything is shown
_PACE = 0.1
_BAR = 24


class Progress:
    """Called after each operation with how many are done, how many there are, and the path of the last."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on = self._stream.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._shown = 0

    def __call__(self, done: int, total: int, path: str) -> None:
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + _PACE
        full = _BAR * done // max(total, 1)
        self._print(f"{'█' * full}{'░' * (_BAR - full)} {100 * done // max(total, 1):3} %  {clean(path)[:48]}")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._print("")
            self._stream.write("\r")
            self._stream.flush()

    def _print(self, text: str) -> None:
        self._stream.write("\r" + text + " " * max(self._shown - width_of(text), 0))
        self._stream.flush()
        self._shown = width_of(text)
