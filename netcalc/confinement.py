"""Confinement of a process that serves others: files below one folder are read, and no others.

:func:`confine` holds for the whole process and cannot be undone.  Functions that look files up by names from outside
ask :func:`require_readable` first, for a clear error.  An audit hook is behind them: it refuses to open any other file,
to write, to start a process, and without ``network`` to connect, whatever library asks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError

#: Files of Python itself that may be read where modules are imported from.
_MODULES = (".py", ".pyc", ".so", ".pyd", ".dll", ".dylib", ".pth", ".zip")
#: Files of the system about the machine and the process itself, from which netcalc and libraries learn of memory,
#: processors and loaded libraries.
_MACHINE = ("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/devices/system/cpu", "/sys/fs/cgroup", os.devnull)
_PROCESS = ("maps", "status", "statm", "limits", "cgroup", "mountinfo")
_PROCESSES = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
_CONNECTIONS = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
_CHANGES = (
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"),
    *("os.chown", "os.utime", "shutil.rmtree", "shutil.move", "shutil.copyfile"),
)


class _Bounds(NamedTuple):
    """Bounds of a confined process: real paths of folders that end in a separator, or of single files."""

    readable: tuple[str, ...]
    caches: tuple[str, ...]
    modules: tuple[str, ...]
    network: bool

    def may_read(self, real: str) -> bool:
        """Return True for a path that a user may name."""
        return _below(real, self.readable)

    def may_open(self, real: str) -> bool:
        """Return True for a path that the process may open."""
        return (
            self.may_read(real)
            or _below(real, self.caches)
            or _below(real, (*_MACHINE, *(f"/proc/{os.getpid()}/{name}" for name in _PROCESS)))
            or (_below(real, self.modules) and _of_modules(real))
        )


_bounds: _Bounds | None = None


def confine(
    folder: str | Path, *, shipped: Iterable[str | Path] = (), caches: Iterable[str] = (), network: bool
) -> None:
    """Confine the process: it reads files below a folder and those that ship with netcalc, and writes nothing.

    Args:
        folder: folder whose files may be read.
        shipped: further folders whose files may be read.
        caches: folders of downloads, which may be written to.
        network: True to permit connections.
    """
    global _bounds
    import sysconfig  # slow, and for a confined process alone

    own = [Path(__file__).parent, *shipped]
    paths = [*sys.path, *sysconfig.get_paths().values(), sys.prefix, sys.base_prefix]
    _bounds = _Bounds(
        tuple(map(_real, (folder, *own))), tuple(map(_real, caches)), tuple(map(_real, filter(None, paths))), network
    )
    sys.dont_write_bytecode = True
    sys.addaudithook(_audit)


def require_readable(path: str | Path) -> None:
    """Check that a path lies where the process may read.

    Raises:
        NetcalcError: E004 if it does not, whether there is anything or not.
    """
    if _bounds is None or isinstance(path, int) or "\0" in (text := os.fspath(path)):
        return
    real = _resolved(text)
    if not _bounds.may_read(real) and not _below(real, _bounds.caches):
        hint = "give the text of the spec in place of a path, or start `netcalc mcp` with --folder"
        raise NetcalcError(Diagnostic("E004", f"{text} is outside the folder whose files may be read", hint=hint))


def require_network(name: str) -> None:
    """Check that the process may ask the network for a model; NetcalcError (E008) if it may not."""
    if _bounds is not None and not _bounds.network:
        hint = "start `netcalc mcp` with --network to permit it"
        raise NetcalcError(Diagnostic("E008", f"{name} would be downloaded, which is not permitted here", hint=hint))


def require_processes(name: str) -> None:
    """Check that the process may start a library for a model; NetcalcError (E009) if it may not."""
    if _bounds is not None:
        hint = f"`netcalc import {name} -o net.yaml` writes its spec, which can be read here"
        raise NetcalcError(Diagnostic("E009", f"a library would build {name}, which is not permitted here", hint=hint))


def _resolved(path: str | Path) -> str:
    """Return a path without links and dots, in one case where case does not matter."""
    return os.path.normcase(os.path.realpath(path))


def _real(path: str | Path) -> str:
    return os.path.join(_resolved(path), "")  # noqa: PTH118 - the separator at the end


def _of_modules(real: str) -> bool:
    """Return True for a file that an import reads, or a folder that it lists."""
    return real.endswith(_MODULES) or os.path.dirname(real).endswith(".dist-info") or os.path.isdir(real)  # noqa: PTH112, PTH120


def _below(real: str, folders: Iterable[str]) -> bool:
    """Return True for a folder, what lies in it, or a file that is named itself."""
    return any(
        real == folder or os.path.join(real, "") == folder or real.startswith(os.path.join(folder, ""))  # noqa: PTH118
        for folder in folders
    )


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what a confined process may not do; PermissionError."""
    check = _CHECKS.get(event)
    if check is not None and _bounds is not None:
        check(_bounds, event, arguments)


def _check_open(bounds: _Bounds, event: str, arguments: tuple[Any, ...]) -> None:
    path, flags = arguments[0], arguments[2] if len(arguments) > 2 else 0
    if path is None or isinstance(path, int):
        return
    real = _resolved(os.fsdecode(path))
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    if writes and real != os.devnull and not _below(real, bounds.caches):
        raise PermissionError(1, "nothing may be written here", os.fsdecode(path))
    if not bounds.may_open(real):
        raise PermissionError(1, "it is outside the folder whose files may be read", os.fsdecode(path))


def _check_list(bounds: _Bounds, event: str, arguments: tuple[Any, ...]) -> None:
    _check_open(bounds, event, (arguments[0] if arguments[0] is not None else ".",))


def _check_change(bounds: _Bounds, event: str, arguments: tuple[Any, ...]) -> None:
    paths = [os.fsdecode(item) for item in arguments[:2] if isinstance(item, (str, bytes, os.PathLike))]
    if not all(_below(_resolved(path), bounds.caches) for path in paths):
        raise PermissionError(1, "nothing may be written here", *paths[:1])


def _check_process(bounds: _Bounds, event: str, arguments: tuple[Any, ...]) -> None:
    raise PermissionError(1, "no process may be started here")


def _check_connection(bounds: _Bounds, event: str, arguments: tuple[Any, ...]) -> None:
    if not bounds.network:
        raise PermissionError(1, "no connection is permitted here")


_CHECKS: Mapping[str, Callable[[_Bounds, str, tuple[Any, ...]], None]] = {
    "open": _check_open,
    **dict.fromkeys(("os.listdir", "os.scandir"), _check_list),
    **dict.fromkeys(_CHANGES, _check_change),
    **dict.fromkeys(_PROCESSES, _check_process),
    **dict.fromkeys(_CONNECTIONS, _check_connection),
}
