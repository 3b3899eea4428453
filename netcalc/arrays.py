"""Arrays of NumPy, and conversion of element types between netcalc's names, which are PyTorch's, and NumPy's.

NumPy has no bfloat16 and no float8; ml_dtypes supplies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netcalc.dtypes import DTYPES, DType

Array: TypeAlias = NDArray[Any]

#: Greatest magnitude of a whole number up to which floating point has all of them.
_EXACT = 1 << 53
#: Types of ml_dtypes; the float8 ones occur in files only.
_OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type, or of a type of NumPy or ml_dtypes that only files have.

    >>> numpy_dtype("bfloat16").itemsize
    2
    """
    if name not in _OF_ML_DTYPES:
        return np.dtype(name)
    import ml_dtypes  # few networks need it, and importing it takes megabytes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


def array_of(value: Any, dtype: np.dtype[Any]) -> Array:
    """Return numbers, or nested lists of them, in an element type; lists of complex numbers end in pairs of parts.

    >>> array_of([[1, 2], [3, 4]], np.dtype("complex64"))
    array([1.+2.j, 3.+4.j], dtype=complex64)
    """
    array = np.asarray(value)
    if dtype.kind == "c" and array.ndim:
        array = array[..., 0] + 1j * array[..., 1]
    return array.astype(dtype)


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return True for float16 and bfloat16, whose arithmetic is done in float32, as in PyTorch.

    >>> is_half(numpy_dtype("bfloat16"))
    True
    """
    return dtype.itemsize == 2 and dtype.name in ("float16", "bfloat16")  # NumPy composes the name


def dtype_name(dtype: np.dtype[Any]) -> DType:
    """Return the name of an element type, in either byte order.

    Raises:
        TypeError: if netcalc has no such type.

    >>> dtype_name(np.dtype(">f4"))
    'float32'
    """
    for name in DTYPES:
        if name == dtype.name:
            return name
    raise TypeError(f"tensors do not hold elements of type {dtype.name}")


def column_of(values: Sequence[Any]) -> Array:
    """Return a column of a table as an array: of integers, floats, truth values or texts, or else of objects.

    None among numbers is NaN, in an array of floats, unless one of the numbers is an integer that floats do not hold.
    """
    types = {type(value) for value in values}
    if types in ({bool}, {str}):
        return np.array(values)
    if types == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    if types and types <= {int, float, type(None)}:
        whole = (value for value in values if isinstance(value, int))
        if all(abs(value) <= _EXACT for value in whole):
            return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
