"""Element types between netcalc, whose names are PyTorch's, and NumPy, which borrows bfloat16 from ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from netcalc.dtypes import DTYPES, DType

__all__ = ["dtype_name", "numpy_dtype"]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of that name.

    >>> numpy_dtype("bfloat16").itemsize
    2
    """
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def dtype_name(dtype: np.dtype[Any]) -> DType:
    """The name of an element type, whatever its byte order; TypeError where netcalc has no such type.

    >>> dtype_name(np.dtype(">f4"))
    'float32'
    """
    for name in DTYPES:
        if name == dtype.name:
            return name
    raise TypeError(f"tensors do not hold elements of type {dtype.name}")
