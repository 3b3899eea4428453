"""Element types of results, by NumPy's promotion of types within a kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.arrays import Array, is_half

#: Kinds in increasing order, by NumPy's letters; ml_dtypes gives bfloat16 the letter V.
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def common_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of arithmetic between tensors of these types, as ``torch.promote_types``.

    Unlike in NumPy, an integer does not widen a floating-point type.
    """
    first, *others = dtypes
    for other in others:
        if "c" in (first.kind, other.kind):
            first = np.promote_types(_complex_of(first), _complex_of(other))
        elif _kind_of_dtype(first) != _kind_of_dtype(other):
            first = max(first, other, key=_kind_of_dtype)
        elif first != other:
            first = np.dtype(np.float32) if is_half(first) and is_half(other) else np.promote_types(first, other)
    return first


def result_dtype(*operands: Any) -> np.dtype[Any]:
    """Return the type of arithmetic between arrays and plain numbers, as ``torch.result_type``.

    An array without axes, and a number, raise the kind of the others, and not their width.
    """
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    groups = (
        [x.dtype for x in arrays if x.ndim],
        [x.dtype for x in arrays if not x.ndim],
        [_of_number(x) for x in operands if not isinstance(x, np.ndarray)],
    )
    types = [common_dtype(*group) for group in groups if group]
    result = types[0]
    for dtype in types[1:]:
        if _kind_of_dtype(dtype) > _kind_of_dtype(result):
            result = _complex_of(result) if dtype.kind == "c" and result.kind in "fV" else dtype
    return result


def at_least(dtype: np.dtype[Any], least: np.dtype[Any]) -> np.dtype[Any]:
    """Return ``least`` if its kind is the higher one, and the type otherwise."""
    return least if _kind_of_dtype(least) > _kind_of_dtype(dtype) else dtype


def floating(x: Array) -> np.dtype[Any]:
    """Return the type of an array of floating-point numbers, and float32 for others."""
    return at_least(x.dtype, np.dtype(np.float32))


def _complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the complex type of numbers with real and imaginary parts of a type."""
    return np.dtype(np.complex128 if dtype in (np.float64, np.complex128) else np.complex64)


def _of_number(number: Any) -> np.dtype[Any]:
    return np.dtype(bool if isinstance(number, bool) else np.float32 if isinstance(number, float) else np.int64)


def _kind_of_dtype(dtype: np.dtype[Any]) -> int:
    return _KINDS[dtype.kind]
