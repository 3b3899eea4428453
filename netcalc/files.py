"""Bounded reading and atomic writing of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import IO

_CHUNK = 1 << 20


def is_file(path: str | Path) -> bool:
    """Return True for a regular file; False for anything else, also a path that cannot be looked up."""
    try:
        return S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError):  # a name too long, a folder that is closed, a circle of links, a null character
        return False


def exists(path: str | Path) -> bool:
    """Return True if there is something at a path that can be looked up."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


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

    The temporary file is in the folder of the target, so that it is replaced by a rename.  A target that is not a
    regular file (a pipe, ``/dev/stdout``) is written to directly.

    Raises:
        OSError: the file cannot be written; ``path`` is unchanged.
    """
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory")
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
