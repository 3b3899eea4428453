"""Progress of a long run: a line on standard error, on terminals only, removed at the end."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from netcalc.render.escapes import clean

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_DELAY = 1.0  # seconds before anything is shown, or rich imported
_INTERVAL = 0.1


class Progress(ExitStack):
    """Progress line; call it after each operation with the number done, the total, and the path of the last."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__()
        # a line of progress moves the cursor, which sys.stderr does not pass on during a command
        self._stream = stream or sys.__stderr__ or sys.stderr
        self._next = monotonic() + _DELAY if self._stream.isatty() else math.inf
        self._bar: Bar | None = None

    def __call__(self, done: int, total: int, path: str) -> None:
        now = monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
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
