"""Reading ``.safetensors`` files: a length of eight bytes, a header in JSON, and the data of all tensors without gaps.

The data goes from the file straight to where it stays.  The format's own library maps the file, so that what has been
read lies in memory twice for a while.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netcalc.dtypes import ITEMSIZE
from netcalc.numerics.arrays import numpy_dtype
from netcalc.numerics.kernels import Array

__all__ = ["Entry", "read_entries", "read_tensor"]

#: Bytes of a header, at the most, by which the format guards its readers.
_LARGEST = 100_000_000
#: Element types by the format's names for them; others keep their own name, and are not read.
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


class Entry(NamedTuple):
    """A tensor's shape and element type, and where in the file its data starts."""

    shape: tuple[int, ...]
    dtype: str
    start: int


def read_entries(path: Path) -> dict[str, Entry]:
    """The tensors of a file by name, in the order of their data.

    Raises:
        ValueError: where the header is not sound, or does not account for every byte of the file.
        OSError: where the file cannot be read.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LARGEST:
            raise ValueError(f"its header would be {length:,} bytes long")
        text = file.read(length)
        size = file.seek(0, 2)
    if 8 + length > size:
        raise ValueError("the header is cut off")
    try:
        header = json.loads(text.decode())
    except RecursionError:
        raise ValueError("the header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("the header is no mapping")
    header.pop("__metadata__", None)
    places = sorted((_place(name, stated), name) for name, stated in header.items())
    end = 0
    entries = {}
    for (start, stop, shape, dtype), name in places:
        itemsize = ITEMSIZE.get(dtype)
        if start != end or stop < start or (itemsize and stop - start != math.prod(shape) * itemsize):
            raise ValueError(f"the data of {name!r} is not where it should be, or not as long")
        entries[name] = Entry(shape, dtype, 8 + length + start)
        end = stop
    if 8 + length + end != size:
        raise ValueError(f"there are {size - 8 - length:,} bytes of data, and the header says {end:,}")
    return entries


def read_tensor(path: Path, entry: Entry) -> Array:
    """The data of one tensor of a type that netcalc has, in the byte order of this machine.

    Raises:
        ValueError: where the file ends too early.
        OSError: where the file cannot be read.
    """
    dtype = numpy_dtype(entry.dtype)
    array = np.empty(entry.shape, dtype.newbyteorder("<"))
    with path.open("rb") as file:
        file.seek(entry.start)
        # as bytes, because bfloat16 is not among the types that Python knows
        if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
            raise ValueError("the file has become shorter")
    return array.astype(dtype, copy=False)


def _place(name: str, stated: Any) -> tuple[int, int, tuple[int, ...], str]:
    """Where a tensor's data starts and ends, its shape and its element type, as the header states them."""
    match stated:
        case {"shape": [*shape], "data_offsets": [start, stop], "dtype": str(dtype)}:
            # true is an instance of int, and NumPy counts no further
            if all(type(number) is int and 0 <= number < 1 << 63 for number in (*shape, start, stop)):
                return start, stop, tuple(shape), _DTYPES.get(dtype, dtype)
    raise ValueError(f"the header does not say where {name!r} is")
