"""Writing files so that nothing half-written is ever left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path to write to; what was written takes the place of ``path`` once the block ends without an error.

    The temporary file stands beside the target, so that the last step is one rename.  What is no regular file
    (a pipe, ``/dev/stdout``) is written to directly.

    Raises:
        OSError: where the file cannot be written; then ``path`` is as it was before.
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
