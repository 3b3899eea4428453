"""Sources of the kernels in C, and the shared library that the installation compiles from them.

The module needs only the standard library, because the build of the package loads it by its path.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parent

#: The library.  It has no interface of Python, so that one file serves all versions.
LIBRARY = _FOLDER / "kernels.so"
#: Sources that are compiled once, of which the first has the digest.
ONCE = tuple(_FOLDER / f"{name}.c" for name in ("library", "calls", "turns"))
#: Sources that are compiled for each instruction set.
KERNELS = sorted(path for path in _FOLDER.glob("*.c") if path not in ONCE)
#: Instruction sets by the name of a machine, and the options of the compiler for each; the first one is needed.
_INSTRUCTION_SETS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "x86_64": {"sse2": (), "avx2": ("-march=x86-64-v3",), "avx512": ("-march=x86-64-v4",)},
    "aarch64": {"neon": ()},
    "arm64": {"neon": ()},
}


def instruction_sets(machine: str | None = None) -> Mapping[str, tuple[str, ...]]:
    """Return the instruction sets of a machine, this one by default, with the options of the compiler for each.

    >>> instruction_sets("arm64")
    {'neon': ()}
    """
    return _INSTRUCTION_SETS.get(machine or platform.machine(), {"generic": ()})


def digest() -> str:
    """Return the SHA-256 digest of the sources, by which a library of other sources is recognized."""
    sha = hashlib.sha256()
    for path in sorted(_FOLDER.glob("*.[ch]")):
        sha.update(path.read_bytes())
    return sha.hexdigest()
