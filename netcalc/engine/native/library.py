"""The compiled kernels, if there are any: functions of one argument, a structure with sizes and addresses.

Each kernel is there for several instruction sets, of which the best of the processor is taken, or the one that the
environment variable NETCALC_ISA names.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache, partial
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.native.sources import LIBRARY, digest


class Blocks(NamedTuple):
    """Size of the blocks of a product whose sums stay in registers."""

    lanes: int
    """Elements of a vector."""
    rows: int
    vectors: int

    @property
    def width(self) -> int:
        """Columns of a block."""
        return self.lanes * self.vectors


@cache
def _library() -> ctypes.CDLL | None:
    """Return the library; None if it was not compiled, or not from these sources."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        compiled_digest = ctypes.c_char_p.in_dll(library, "netcalc_digest").value
    except (OSError, ValueError):
        return None
    return library if compiled_digest == digest().encode() else None


def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets that the processor has and there are kernels for, the best first."""
    library = _library()
    if library is None:
        return ()
    library.netcalc_instruction_sets.restype = ctypes.c_char_p
    names = library.netcalc_instruction_sets().decode().split()
    return tuple(name for name in names if hasattr(library, f"netcalc_blocks_{name}"))


@cache
def instruction_set() -> str | None:
    """Return the instruction set of the kernels that are used; None without kernels.

    Raises:
        NetcalcError: E502 if NETCALC_ISA names one that the processor does not have, or there are no kernels for.
    """
    names, forced = instruction_sets(), os.environ.get("NETCALC_ISA")
    if not forced or forced == "numpy":
        return None if forced else next(iter(names), None)
    if forced not in names:
        has = ", ".join((*names, "numpy"))
        message = f"NETCALC_ISA={forced}: there are no kernels for {forced!r} that this processor can execute"
        raise NetcalcError(Diagnostic("E502", message, hint=f"instruction sets here are {has}"))
    return forced


def available() -> bool:
    """Return True if there are compiled kernels."""
    return instruction_set() is not None


@cache
def blocks() -> Blocks | None:
    """Return the blocks of the kernels of products; None if there are no kernels, or BLAS is faster than they are."""
    library, name = _library(), instruction_set()
    if library is None or name is None:
        return None
    has_blocks, *sizes = (ctypes.c_ssize_t * 4).in_dll(library, f"netcalc_blocks_{name}")
    return Blocks(*sizes) if has_blocks else None


def blocks_fit() -> bool:
    """Return True if there are kernels of products that are faster than BLAS where it packs much."""
    return blocks() is not None


class KernelCall(partial[object]):
    """A call of a kernel with its arguments, which releases the lock of the interpreter."""

    arguments: ctypes.Structure

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of the function and of its arguments."""
        function: Any = self.func
        return ctypes.cast(function, ctypes.c_void_p).value or 0, ctypes.addressof(self.arguments)


def bound(name: str, arguments: ctypes.Structure, *arrays: Any) -> KernelCall:
    """Return a call of a kernel; it keeps the arrays alive."""
    library = _library()
    assert library is not None
    function = getattr(library, f"netcalc_{name}_{instruction_set()}")
    function.restype = None
    arguments.arrays = arrays
    call = KernelCall(function, ctypes.byref(arguments))
    call.arguments = arguments
    return call


def function(name: str) -> Any:
    """Return a function of the library that is the same for all instruction sets; None if there is none."""
    library = _library()
    return None if library is None else getattr(library, f"netcalc_{name}", None)


def integers(*values: int) -> ctypes.Array[ctypes.c_ssize_t]:
    """Return integers as an array of C's ptrdiff_t."""
    return (ctypes.c_ssize_t * len(values))(*values)
