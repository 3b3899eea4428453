"""Conversion of element types between netcalc's names, which are PyTorch's, and NumPy.

NumPy has no bfloat16; ml_dtypes supplies it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.dtypes import DTYPES, DType

__all__ = ["dtype_name", "is_half", "numpy_dtype"]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type.

    >>> numpy_dtype("bfloat16").itemsize
    2
    """
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes  # few networks need it, and importing it takes megabytes

    bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return True for float16 and bfloat16, whose arithmetic is done in float32, as in PyTorch.

    >>> is_half(numpy_dtype("bfloat16"))
    True
    """
    return dtype.name in ("float16", "bfloat16")


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
