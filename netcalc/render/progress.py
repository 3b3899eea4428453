"""Progress of long work: a line on standard error, on terminals only, removed at the end."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from netcalc.render.escapes import clean

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import ProgressColumn

_DELAY = 1.0  # seconds before anything is shown, or rich imported
_INTERVAL = 0.1


class Progress(ExitStack):
    """Progress line with rate and remaining time.

    It is called after each operation with the number done, the total, and the path of the last.
    """

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


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show the time that passes during work of which no part is known, once it has taken a second."""
    stream = sys.__stderr__ or sys.stderr
    if not stream.isatty():
        yield
        return
    with ExitStack() as shown:
        clock = Timer(_DELAY, lambda: shown.enter_context(_clock(stream, text)))
        clock.daemon = True
        clock.start()
        shown.callback(clock.cancel)
        yield
        clock.cancel()
        clock.join()


def _bar(stream: TextIO, total: int) -> Bar:
    from rich.progress import BarColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.3g}/s" if task.speed else "")

    columns = BarColumn(), TaskProgressColumn(), Rate(""), TimeRemainingColumn(), _label()
    return _progress(stream, "", total, *columns, auto_refresh=False)


def _clock(stream: TextIO, text: str) -> Bar:
    from rich.progress import SpinnerColumn, TimeElapsedColumn

    return _progress(stream, clean(text), None, SpinnerColumn(), TimeElapsedColumn(), _label())


def _label() -> ProgressColumn:
    from rich.progress import TextColumn

    return TextColumn("{task.description}", markup=False)


def _progress(stream: TextIO, text: str, total: int | None, *columns: ProgressColumn, auto_refresh: bool = True) -> Bar:
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(
        *columns,
        console=Console(file=stream),
        auto_refresh=auto_refresh,
        transient=True,
        redirect_stdout=False,
    )
    bar.add_task(text, total=total)
    return bar
