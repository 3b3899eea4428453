"""Bounded reading and atomic writing of files.

A file is written under the name ``.NAME.netcalc-PID`` in its folder and renamed when it is complete, so that the target
holds its old or its new content at any time, also if the process is killed or the machine fails.  The lock on a
temporary file ends with the process that wrote it; the next write removes those without a lock.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import IO

from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError

_CHUNK = 1 << 20

#: Most bytes of a target's name that its temporary file repeats; names of files are limited to 255 bytes.
_NAME = 200

#: Temporary files that this process is writing.
_unfinished: set[Path] = set()


def is_file(path: str | Path) -> bool:
    """Return True for a regular file; False for anything else, also a path that cannot be looked up."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: str | Path) -> bool:
    """Return True for a folder; False for anything else, also a path that cannot be looked up."""
    return stat.S_ISDIR(_mode(path))


def exists(path: str | Path) -> bool:
    """Return True if there is something at a path that can be looked up."""
    return _mode(path) != 0


def _mode(path: str | Path) -> int:
    """Return type and mode of what is at a path; 0 if it cannot be looked up.

    In a confined process a path elsewhere is an error (NetcalcError, E004), so that nothing shows if there is a file.
    """
    require_readable(path)
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):  # a name too long, a folder that is closed, a circle of links, a null character
        return 0


def read_at_most(stream: IO[bytes], size: int) -> bytes:
    """Return up to ``size`` bytes of a stream, with no more memory than they take."""
    chunks = []
    while size > 0 and (chunk := stream.read(min(size, _CHUNK))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to, which replaces ``path`` when the block ends without an error.

    A target that exists keeps its mode, and its owner and group where that is permitted; a link to a file stays a link.
    A target that is not a regular file (a pipe, ``/dev/stdout``) is written to directly.  SIGTERM and SIGHUP remove the
    temporary file before they end the process, unless the program handles them.

    Raises:
        OSError: the file cannot be written; ``path`` is unchanged.
    """
    previous = _status(path)
    if previous is not None and (not stat.S_ISREG(previous.st_mode) or os.fspath(path).startswith(("/dev/", "/proc/"))):
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    _remove_abandoned(target)
    temporary, lock = None, None
    try:
        with _removed_on_signals():
            with _interrupts_held():
                temporary, lock = _create(target, 0o666 if previous is None else 0o600)
                _unfinished.add(temporary)
            yield temporary
            _finish(temporary, previous)
            temporary.replace(target)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise
    finally:
        if temporary is not None:
            _unfinished.discard(temporary)
        if lock is not None:
            os.close(lock)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those that it lies in, unless there is one; OSError if that is not possible."""
    path.mkdir(mode, parents=True, exist_ok=True)


def remove_file(path: Path) -> None:
    """Remove a file, if there is one and its folder allows it."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def write_file(parts: Iterable[bytes], path: str, option: str = "") -> None:
    """Replace a file as a whole; NetcalcError (E502) if the file, which ``option`` names, cannot be written."""
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.writelines(parts)
    except OSError as error:
        message = f"{option}{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message)) from None


def write_files(files: Sequence[tuple[str, Iterable[bytes]]]) -> None:
    """Replace several files together, the last one first, when all of them are complete.

    Raises:
        NetcalcError: E502 if one cannot be written; none is replaced then.
    """
    path = ""
    try:
        with ExitStack() as stack:
            for path, parts in files:
                temporary = stack.enter_context(replacing(path))
                with temporary.open("wb") as file:
                    file.writelines(parts)
    except OSError as error:
        message = f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message)) from None


def _status(path: str | Path) -> os.stat_result | None:
    """Return the status of the target, None if there is none; OSError if it must not be written."""
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "a null character in the name", str(path))
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return status


def _prefix(target: Path) -> str:
    name = target.name.encode("utf-8", "ignore")[:_NAME].decode("utf-8", "ignore")
    return f".{name}.netcalc-"


def _create(target: Path, mode: int) -> tuple[Path, int | None]:
    """Create a temporary file that no other thread or process uses; return it with the descriptor that locks it."""
    for number in count():
        suffix = f"-{number}" if number else ""
        temporary = target.with_name(f"{_prefix(target)}{os.getpid()}{suffix}")
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
        except FileExistsError:
            continue
        if os.name == "nt":  # there, an open file cannot be renamed
            os.close(descriptor)
            return temporary, None
        _lock(descriptor, wait=True)  # another process may hold it, to see that it is in use
        if _is_open(temporary, descriptor):
            return temporary, descriptor
        os.close(descriptor)  # removed by another process before it was locked
    raise AssertionError("count() does not end")


def _finish(temporary: Path, previous: os.stat_result | None) -> None:
    """Write the file to the disk, with the mode and the owner of the previous one."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    if previous is None or os.name == "nt":
        return
    mode = stat.S_IMODE(previous.st_mode)
    created = temporary.stat()
    if (created.st_uid, created.st_gid) != (previous.st_uid, previous.st_gid):
        try:
            os.chown(temporary, previous.st_uid, previous.st_gid)
        except OSError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
            with suppress(OSError):
                os.chown(temporary, -1, previous.st_gid)
    temporary.chmod(mode)


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of the target whose processes have ended."""
    prefix = _prefix(target)
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name[len(prefix) :].replace("-", "").isdecimal():
                _remove_unlocked(Path(entry.path))


def _remove_unlocked(path: Path) -> None:
    """Remove a regular file that no process has locked; links are not followed."""
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor) and _is_open(path, descriptor):
                path.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it, or locks are missing."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _is_open(path: Path, descriptor: int) -> bool:
    """Return True if the descriptor belongs to the file at this path."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold an interrupt of the main thread until the block has ended."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(signal.SIGINT, held[0])


@contextmanager
def _removed_on_signals() -> Iterator[None]:
    """Remove unfinished files before a signal ends the process."""
    if threading.current_thread() is not threading.main_thread():  # others cannot set handlers
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [signal.Signals[name] for name in names]
    replaced = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    """End the process by the signal, after removal of its unfinished files."""
    for path in tuple(_unfinished):
        with suppress(OSError):
            path.unlink()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
