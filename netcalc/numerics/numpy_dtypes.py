"""Element types between netcalc, whose names are PyTorch's, and NumPy, which borrows bfloat16 from ml_dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.dtypes import DTYPES, DType

__all__ = ["dtype_name", "is_half", "numpy_dtype"]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of that name.

    >>> numpy_dtype("bfloat16").itemsize
    2
    """
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes  # few networks need it, and it takes megabytes

    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether it is of two bytes, so that arithmetic on it is done in float32, as in PyTorch.

    >>> is_half(numpy_dtype("bfloat16"))
    True
    """
    return dtype.name in ("float16", "bfloat16")


def dtype_name(dtype: np.dtype[Any]) -> DType:
    """The name of an element type, whatever its byte order; TypeError where netcalc has no such type.

    >>> dtype_name(np.dtype(">f4"))
    'float32'
    """
    for name in DTYPES:
        if name == dtype.name:
            return name
    raise TypeError(f"tensors do not hold elements of type {dtype.name}")
