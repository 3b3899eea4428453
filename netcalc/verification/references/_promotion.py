"""Element types of arithmetic, as a table of what ``torch.result_type`` gives."""

from __future__ import annotations

from typing import Any

_NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
#: The type of arithmetic between a tensor of each type and tensors of the types in the order above.
_TABLE = {
    "bool": "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",
    "uint8": "uint8 uint8 int16 int16 int32 int64 float16 bfloat16 float32 float64",
    "int8": "int8 int16 int8 int16 int32 int64 float16 bfloat16 float32 float64",
    "int16": "int16 int16 int16 int16 int32 int64 float16 bfloat16 float32 float64",
    "int32": "int32 int32 int32 int32 int32 int64 float16 bfloat16 float32 float64",
    "int64": "int64 int64 int64 int64 int64 int64 float16 bfloat16 float32 float64",
    "float16": "float16 float16 float16 float16 float16 float16 float16 float32 float32 float64",
    "bfloat16": "bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 float32 bfloat16 float32 float64",
    "float32": "float32 float32 float32 float32 float32 float32 float32 float32 float32 float64",
    "float64": "float64 float64 float64 float64 float64 float64 float64 float64 float64 float64",
}


def promoted(*dtypes: str) -> str:
    """Return the element type of arithmetic between tensors that have axes.

    >>> promoted("int8", "uint8"), promoted("float16", "int64")
    ('int16', 'float16')
    """
    if any("complex" in dtype for dtype in dtypes):
        return "complex128" if {"complex128", "float64"} & {*dtypes} else "complex64"
    dtype_so_far = "bool"
    for dtype in dtypes:
        if dtype not in _NAMES or dtype_so_far not in _NAMES:  # unsigned integers of more than 8 bits
            dtype_so_far = next((name for name in (dtype_so_far, dtype) if "float" in name), dtype)
        else:
            dtype_so_far = _TABLE[dtype_so_far].split()[_NAMES.index(dtype)]
    return dtype_so_far


def result_type(*operands: Any) -> str:
    """Return the element type of arithmetic between arrays and plain numbers.

    An array without axes, and then a number, decides only if it is of a higher kind (bool, integer, float, complex)
    than what has axes; a float among integers gives float32, PyTorch's default type, and the parts of a complex number
    have the width of the floats with axes.

    >>> import numpy as np
    >>> result_type(np.ones(2, "float16"), np.float64(1)), result_type(np.ones(2, "int8"), 0.5)
    ('float16', 'float32')
    """
    arrays = [operand for operand in operands if hasattr(operand, "dtype")]
    numbers = [operand for operand in operands if not hasattr(operand, "dtype")]
    groups = [
        [array.dtype.name for array in arrays if array.ndim],
        [array.dtype.name for array in arrays if not array.ndim],
        ["bool" if n is True or n is False else "int64" if isinstance(n, int) else "float32" for n in numbers],
    ]
    results = [promoted(*group) for group in groups if group]
    highest = max(results, key=_kind_of_dtype)  # the first of the highest kind
    if "complex" in highest and "float" in results[0]:
        return "complex128" if results[0] == "float64" else "complex64"
    return highest


def _kind_of_dtype(dtype: str) -> int:
    return 0 if dtype == "bool" else 3 if "complex" in dtype else 2 if "float" in dtype else 1
