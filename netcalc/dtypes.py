"""The element types of tensors: names, sizes in bytes, and promotion.

Names are PyTorch's.  Promotion follows ``torch.promote_types``: bool < integers < floats < complex numbers; within a
kind the wider wins, ``uint8`` with ``int8`` gives ``int16``, ``float16`` with ``bfloat16`` gives ``float32``, and
``float64`` with ``complex64`` gives ``complex128``.  ``uint16``, ``uint32`` and ``uint64`` combine with their own type
and with floats only.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from functools import reduce
from typing import Any, Literal, TypeAlias, get_args

from netcalc.diagnostics import RuleError

DType: TypeAlias = Literal[
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
]
DTYPES: tuple[DType, ...] = get_args(DType)

ITEMSIZE: dict[str, int] = {
    "complex128": 16,
    "complex64": 8,
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
}
FLOATS = frozenset({"float64", "float32", "float16", "bfloat16"})
#: The type of the real and of the imaginary part of each complex type.
PARTS: dict[DType, DType] = {"complex64": "float32", "complex128": "float64"}
COMPLEX = frozenset(PARTS)
#: Types of numbers with a fraction.
INEXACT = FLOATS | COMPLEX
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
INTEGERS = frozenset({"int64", "int32", "int16", "int8"}) | UNSIGNED
#: Types that are promoted to no other type of integers.
_APART = UNSIGNED - {"uint8"}

_SIGNED = ("int8", "int16", "int32", "int64")


def promote(*dtypes: DType) -> DType:
    """Return the element type of arithmetic between tensors of these types.

    Raises:
        RuleError: an unsigned type of more than 8 bits with another type of integers, bools or complex numbers.

    >>> promote("int64", "float16")
    'float16'
    >>> promote("float16", "bfloat16")
    'float32'
    """
    return reduce(_promote_two, dtypes)


def scalar_dtype(number: Any) -> DType:
    """Return the element type of a number written in a spec."""
    return "bool" if isinstance(number, bool) else "float32" if isinstance(number, float) else "int64"


def result_type(tensors: Iterable[tuple[DType, int]], *numbers: Any) -> DType:
    """Return the element type of arithmetic between tensors, given as (element type, rank), and bare numbers.

    The rules are those of ``torch.result_type``: tensors with axes determine the type; a tensor without axes, and then
    a number, can raise the kind (bool, integer, float, complex) but not the width.

    Raises:
        ValueError: there is neither a tensor nor a number.
        RuleError: types that promote does not combine.

    >>> result_type([("float16", 2), ("float64", 0)], 0.5)
    'float16'
    >>> result_type([("int64", 1)], 0.5)
    'float32'
    >>> result_type([("float64", 1), ("complex64", 0)])
    'complex128'
    """
    tensors = list(tensors)
    ranked: DType | None = None
    for group in ([d for d, r in tensors if r], [d for d, r in tensors if not r], [scalar_dtype(n) for n in numbers]):
        if group:
            here = promote(*group)
            if ranked in FLOATS and here in COMPLEX:
                ranked = complex_of(ranked)
            elif ranked == "bool" and here in _APART:
                ranked = promote(ranked, here)
            elif ranked is None or _kind(here) > _kind(ranked):
                ranked = here
    if ranked is None:
        raise ValueError("arithmetic takes at least one operand")
    return ranked


def complex_of(dtype: DType) -> DType:
    """Return the complex type of numbers with real and imaginary parts of a type; complex64 unless they are wider."""
    return "complex128" if dtype in ("float64", "complex128") else "complex64"


def real_of(dtype: DType) -> DType:
    """Return the type of the parts of a complex type, and any other type as it is."""
    return PARTS.get(dtype, dtype)


#: The largest finite number of each floating-point type.
_LARGEST = {"float16": 65504.0, "bfloat16": float.fromhex("0x1.fep127"), "float32": float.fromhex("0x1.fffffep127")}


def holds(dtype: DType, number: Any) -> bool:
    """Return True if a number written in a spec is within the range of an element type; it may be rounded.

    >>> holds("float16", -1e9), holds("float16", float("-inf")), holds("uint8", -1)
    (False, True, False)
    """
    if isinstance(number, int) and number.bit_length() > sys.float_info.max_exp:
        return False
    if dtype in INEXACT:
        dtype = real_of(dtype)
        return math.isinf(number) or math.isnan(number) or abs(number) <= _LARGEST.get(dtype, math.inf)
    if dtype in INTEGERS:
        least, most = limits(dtype)
        return math.isfinite(number) and least <= number <= most
    return True


def limits(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest number of a type of integers.

    >>> limits("int8"), limits("uint16")
    ((-128, 127), (0, 65535))
    """
    values = 1 << 8 * ITEMSIZE[dtype]
    return (0, values - 1) if dtype in UNSIGNED else (-values // 2, values // 2 - 1)


def largest(dtype: DType) -> float:
    """Return the largest finite number of a floating-point type."""
    return _LARGEST.get(dtype, sys.float_info.max)


def _kind(dtype: DType) -> int:
    return 3 if dtype in COMPLEX else 2 if dtype in FLOATS else 1 if dtype in INTEGERS else 0


def _promote_two(a: DType, b: DType) -> DType:
    if a != b and (a in _APART or b in _APART) and a not in FLOATS and b not in FLOATS:
        hint = "give one of them the type of the other with 'cast'"
        raise RuleError(f"numbers of the types {a} and {b} have no common type", code="E402", hint=hint)
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if a in COMPLEX or b in COMPLEX:
        return "complex128" if any(dtype in ("float64", "complex128") for dtype in (a, b)) else "complex64"
    if (a in FLOATS) != (b in FLOATS):
        return a if a in FLOATS else b
    if a in FLOATS:
        if {a, b} == {"float16", "bfloat16"}:
            return "float32"
        return a if ITEMSIZE[a] >= ITEMSIZE[b] else b
    if "uint8" in (a, b):
        other = b if a == "uint8" else a
        return "int16" if other == "int8" else other
    return a if _SIGNED.index(a) >= _SIGNED.index(b) else b
