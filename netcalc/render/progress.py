"""One line on standard error that says how far a long run has come; only on a terminal, and gone at the end."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from netcalc.render.text import clean

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress"]

_PATIENCE = 1.0  # seconds before anything is shown, or rich imported
_PACE = 0.1


class Progress(ExitStack):
    """Called after each operation with how many are done, how many there are, and the path of the last."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream or sys.stderr
        self._next = monotonic() + _PATIENCE if self._stream.isatty() else math.inf
        self._bar: Bar | None = None

    def __call__(self, done: int, total: int, path: str) -> None:
        now = monotonic()
        if now < self._next:
            return
        self._next = now + _PACE
        if self._bar is None:
            self._bar = _bar(self._stream, total)
            self.enter_context(self._bar)
        self._bar.update(self._bar.task_ids[0], completed=done, description=clean(path), refresh=True)


def _bar(stream: TextIO, total: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False)
    bar = Progress(*columns, console=Console(file=stream), auto_refresh=False, transient=True, redirect_stdout=False)
    bar.add_task("", total=total)
    return bar
