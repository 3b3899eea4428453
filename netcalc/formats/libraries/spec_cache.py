"""Spec documents that libraries made, kept in the user's cache folder.

A file is named by a digest of everything that its document follows from, and begins with the digest of its content.
Files belong to their user alone, and what they hold is read as any spec is: as data that may be wrong.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from netcalc.files import make_folder, read_at_most, remove_file, replacing
from netcalc.limits import MAX_CACHED_SPEC, MAX_SPEC_CACHE

_SUFFIX = ".spec.json"


def cache_folder() -> Path:
    """Return the folder of cached specs: ``$NETCALC_CACHE``, or ``netcalc`` in the user's folder for caches."""
    if chosen := os.environ.get("NETCALC_CACHE"):
        return Path(chosen) / "specs"
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(base) if base else Path.home() / ".cache") / "netcalc" / "specs"


def key_of(facts: Mapping[str, Any]) -> str:
    """Return the name of what follows from some facts, which are plain data."""
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def cached(key: str) -> Any:
    """Return what is kept under a key, None if there is nothing; a file that was changed is removed."""
    path = cache_folder() / (key + _SUFFIX)
    try:
        if not _is_own(path):
            return None
        with path.open("rb") as file:
            digest, _, content = read_at_most(file, MAX_CACHED_SPEC + 1).partition(b"\n")
        if len(content) <= MAX_CACHED_SPEC and digest.decode() == sha256(content).hexdigest():
            with suppress(OSError):
                os.utime(path)
            return json.loads(content)
    except (OSError, ValueError, RecursionError):
        pass
    remove_file(path)
    return None


def keep(key: str, value: Any) -> None:
    """Keep plain data under a key, and drop what was not used for longest where the folder grows over its bound.

    A folder that cannot be written to, or is another user's, keeps nothing.
    """
    content = json.dumps(value).encode()
    folder = cache_folder()
    if len(content) > MAX_CACHED_SPEC:
        return
    with suppress(OSError):
        make_folder(folder, 0o700)
        if not _is_own(folder):
            return
        with replacing(folder / (key + _SUFFIX)) as temporary, temporary.open("wb") as file:
            temporary.chmod(0o600)
            file.write(sha256(content).hexdigest().encode() + b"\n" + content)
        _shrink(folder)


def _is_own(path: Path) -> bool:
    """Return True for a file or folder that only this user can write to; FileNotFoundError if there is none."""
    status = path.lstat()
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def _shrink(folder: Path) -> None:
    """Remove the files that were not used for longest, down to the bound of the folder."""
    files = sorted(((entry.stat(), entry) for entry in folder.glob(f"*{_SUFFIX}")), key=lambda pair: -pair[0].st_mtime)
    size = 0
    for status, file in files:
        size += status.st_size
        if size > MAX_SPEC_CACHE:
            remove_file(file)
