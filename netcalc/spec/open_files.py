"""Texts of files that are open in an editor, which take the place of those on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

#: Text of an open file, or the time of modification of another one; None for a file that there is not.
Version: TypeAlias = str | int | None


class OpenFiles:
    """The texts of open files by their resolved paths, and the specs that were read of them."""

    def __init__(self) -> None:
        self._texts: dict[Path, str] = {}
        self.read: dict[Any, Any] = {}

    def open(self, path: Path | str, text: str) -> bool:
        """Take the text of a file in place of an earlier one; return False if it is the same."""
        real = _resolved(path)
        if real is None or self._texts.get(real) == text:
            return False
        self._texts[real] = text
        return True

    def close(self, path: Path | str) -> bool:
        """Forget the text of a file, so that it is read from disk; return False if it was not open."""
        self.read.clear()
        real = _resolved(path)
        return real is not None and self._texts.pop(real, None) is not None

    def has(self, path: Path) -> bool:
        """Return True if a file is open."""
        return bool(self._texts) and _resolved(path) in self._texts

    def text(self, real: Path) -> str | None:
        """Return the text of a file by its resolved path; None if it is not open."""
        return self._texts.get(real)

    def version(self, real: Path) -> Version:
        """Return what tells a text of a file from another one."""
        text = self._texts.get(real)
        return version_on_disk(real) if text is None else text

    def are_as(self, files: Mapping[Path, Version]) -> bool:
        """Return True if files have the versions that they had when they were read."""
        return all(self.version(real) == version for real, version in files.items())


def _resolved(path: Path | str) -> Path | None:
    """Return the path of a file without symbolic links; None for a name that no file can have."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return None


def version_on_disk(real: Path) -> Version:
    """Return the time of modification of a file in nanoseconds; None if there is no such file."""
    try:
        return real.stat().st_mtime_ns
    except OSError:
        return None
