"""Standard streams for the time of a command: what leaves is escaped, and failures to write are reported."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from netcalc.notices import listeners
from netcalc.render.escapes import outgoing
from netcalc.render.text import is_width


class OutputError(Exception):
    """Standard output cannot be written."""


class OutputClosedError(Exception):
    """The reader of the standard output has closed the pipe.  (click and rich exit with 1 on a BrokenPipeError.)"""


class _Output:
    """A stream that escapes the characters that must not reach a terminal; in all else it is ``stream``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # styles come from netcalc and its help pages: texts of users are escaped before they get here
        self._styled = stream.isatty() or bool(os.environ.get("FORCE_COLOR"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._as_output_errors():
            return self._stream.write(outgoing(text, styled=self._styled))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._as_output_errors():
            self._stream.flush()

    @contextmanager
    def _as_output_errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise OutputClosedError from None
        except OSError as error:
            raise OutputError("it is closed" if error.errno == errno.EBADF else _reason(error)) from None


class _Errors(_Output):
    """Standard error.  If it cannot be written, the exit code alone tells the result."""

    @contextmanager
    def _as_output_errors(self) -> Iterator[None]:
        with suppress(OSError):
            yield


@contextmanager
def standard_streams() -> Iterator[None]:
    """Escape what is written to the standard streams, and raise OutputError where standard output fails."""
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):  # rich and typer read them without checks
        if not is_width(os.environ.get(name, "")):
            os.environ.pop(name, None)
    output, errors = sys.stdout, sys.stderr
    for stream in (output, errors):
        _use_unicode(stream)
    sys.stdout, sys.stderr = cast("TextIO", _Output(output)), cast("TextIO", _Errors(errors))
    listeners.append(_print_notice)
    try:
        yield
    finally:
        listeners.remove(_print_notice)
        sys.stdout, sys.stderr = output, errors


def _print_notice(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def open_closed_streams() -> None:
    """Replace standard streams that were closed when the process began, so that no file gets their descriptors.

    Reading the standard input and writing to the standard output then fail; the standard error is discarded.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def discard_output() -> None:
    """Redirect the standard output to the null device, so that the interpreter does not report a failure at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _use_unicode(stream: TextIO) -> None:
    """Switch a stream to UTF-8 if its encoding lacks the characters of tables; others it may lack are escaped."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    try:
        "×→├─".encode(stream.encoding or "ascii")
        reconfigure(errors="backslashreplace")
    except (LookupError, UnicodeEncodeError):
        reconfigure(encoding="utf-8", errors="backslashreplace")
