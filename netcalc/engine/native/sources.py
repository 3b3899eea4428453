"""Sources of the kernels in C, and the shared library that the installation compiles from them.

The module needs only the standard library, because the build of the package loads it by its path.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_FOLDER = Path(__file__).parent

#: The library.  It has no interface of Python, so that one file serves all versions.
LIBRARY = _FOLDER / "kernels.so"
#: Files in C.
SOURCES = sorted(_FOLDER.glob("*.c"))


def digest() -> str:
    """Return the SHA-256 digest of the sources, by which a library of other sources is recognized."""
    sha = hashlib.sha256()
    for path in sorted(_FOLDER.glob("*.[ch]")):
        sha.update(path.read_bytes())
    return sha.hexdigest()
