"""The compiled kernels, if there are any: functions of one argument, a structure with sizes and addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from netcalc.engine.native.sources import LIBRARY, digest


@cache
def _library() -> ctypes.CDLL | None:
    """Return the library; None if it was not compiled, or not from these sources."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        compiled_digest = ctypes.c_char_p.in_dll(library, "netcalc_digest").value
    except (OSError, ValueError):
        return None
    return library if compiled_digest == digest().encode() else None


def available() -> bool:
    """Return True if there are compiled kernels."""
    return _library() is not None


@cache
def blocks_fit() -> bool:
    """Return True if there are kernels, and the processor has registers for blocks of vectors of 16 (AVX-512)."""
    library = _library()
    return library is not None and bool(library.netcalc_wide_registers())


def bound(name: str, arguments: ctypes.Structure, *arrays: Any) -> Callable[[], object]:
    """Return a call of a kernel, which releases the lock of the interpreter; it keeps the arrays alive."""
    library = _library()
    assert library is not None
    function = getattr(library, f"netcalc_{name}")
    function.restype = None
    arguments.arrays = arrays
    return partial(function, ctypes.byref(arguments))


def integers(*values: int) -> ctypes.Array[ctypes.c_ssize_t]:
    """Return integers as an array of C's ptrdiff_t."""
    return (ctypes.c_ssize_t * len(values))(*values)
