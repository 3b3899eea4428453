"""Header of a ``.safetensors`` file, read and written: 8 bytes with its length, then JSON.

The rules are those of the reference implementation (https://github.com/huggingface/safetensors): the data of tensors
follow each other without gaps or overlaps, and fill the rest of the file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from netcalc.limits import MAX_STORED_TENSORS, MAX_TENSOR_HEADER
from netcalc.numerics.numpy_dtypes import numpy_dtype
from netcalc.numerics.stored import (
    BITS,
    DamagedError,
    Header,
    Stored,
    clipped,
    exactly,
    parsed_json,
    require_axes,
    stored_bytes,
)

__all__ = ["read_safetensors_header", "safetensors_header"]

#: Element types by their names in the file; other types keep those names.
_NAMES = {
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
#: Types that netcalc does not have, with the name of their dtype in NumPy or ml_dtypes.
_OTHERS = {
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_KEYS = {"dtype", "shape", "data_offsets"}


def read_safetensors_header(file: io.RawIOBase | io.BufferedIOBase, length: int) -> dict[str, Stored]:
    """Return the tensors of a file of ``length`` bytes by name.

    Raises:
        DamagedError: the header or the length of the file does not follow the format.
    """
    size = int.from_bytes(exactly(file, 8, "the length of its header"), "little")
    if size > length - 8:
        raise DamagedError(f"its header should have {size:,} bytes, and the file has {length:,}")
    if size > MAX_TENSOR_HEADER:
        raise DamagedError(f"its header has {size:,} bytes, and the limit is {MAX_TENSOR_HEADER:,}")
    entries = parsed_json(exactly(file, size, "its header"))
    if not isinstance(entries, dict):
        raise DamagedError("its header is no mapping of names")
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise DamagedError("its __metadata__ is no mapping of text")
    if len(entries) > MAX_STORED_TENSORS:
        raise DamagedError(f"it holds {len(entries):,} tensors, and the limit is {MAX_STORED_TENSORS:,}")
    _require_contiguous(entries, length - size - 8)
    dtypes = _Dtypes()
    for name, entry in entries.items():  # in place: a header of many tensors takes much memory
        entries[name] = _stored(name, entry, size + 8, dtypes)
    return entries


def safetensors_header(tensors: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Return the header of a file whose data are those of ``tensors`` in their order, its length included.

    Raises:
        ValueError: the format has no such elements.
    """
    kinds = {name: kind for kind, name in (_NAMES | _OTHERS).items()}
    entries, end = {}, 0
    for name, array in tensors.items():
        if array.dtype.name not in kinds:
            raise ValueError(f"{clipped(name)} is {array.dtype.name}, which .safetensors files cannot hold")
        start, end = end, end + array.nbytes
        entries[name] = {"dtype": kinds[array.dtype.name], "shape": [*array.shape], "data_offsets": [start, end]}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the data are aligned
    return len(text).to_bytes(8, "little") + text


def _require_contiguous(entries: Mapping[str, Any], length: int) -> None:
    """Raise DamagedError if the data do not fill ``length`` bytes one after the other."""
    ranges = []
    for name, entry in entries.items():
        if not isinstance(entry, dict) or entry.keys() != _KEYS:
            raise DamagedError(f"{clipped(name)} should have dtype, shape and data_offsets")
        offsets = entry["data_offsets"]
        if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(offset) is int for offset in offsets)):
            raise DamagedError(f"the data_offsets of {clipped(name)} should be two numbers")
        ranges.append((*offsets, name))
    end = 0
    for start, stop, name in sorted(ranges):
        if start != end or stop < start:
            raise DamagedError(f"the data of {clipped(name)} overlap others, or leave a gap")
        end = stop
    if end > length:
        raise DamagedError(f"it ends too early: its tensors have {end:,} bytes, and the file has {length:,} for them")
    if end < length:
        raise DamagedError(f"{length - end:,} bytes belong to no tensor")


class _Dtypes(dict[str, "tuple[str, np.dtype[Any] | None, int | None]"]):
    """Element types of one file: netcalc's name, NumPy's dtype and the bits of an element, both None if unknown."""

    def __missing__(self, name: str) -> tuple[str, np.dtype[Any] | None, int | None]:
        dtype = numpy_dtype(_NAMES.get(name) or _OTHERS[name]) if name in _NAMES or name in _OTHERS else None
        self[name] = _NAMES.get(name, name), dtype, 8 * dtype.itemsize if dtype else BITS.get(name)
        return self[name]


def _stored(name: str, entry: Mapping[str, Any], data: int, dtypes: _Dtypes) -> Stored:
    kind, sizes = entry["dtype"], entry["shape"]
    if not isinstance(kind, str) or not (isinstance(sizes, list) and all(type(n) is int and n >= 0 for n in sizes)):
        raise DamagedError(f"{clipped(name)} has no valid element type or shape")
    shape = tuple(sizes)
    require_axes(shape, name)
    dtype_name, dtype, bits = dtypes[kind]
    start, stop = entry["data_offsets"]
    if bits is not None and stored_bytes(shape, bits, stop - start) != stop - start:
        raise DamagedError(f"{clipped(name)} has {stop - start:,} bytes, which its shape and element type do not give")
    header = Header(shape, dtype_name) if bits is not None else Header(shape, dtype_name, stop - start)
    return Stored(header, dtype, data + start)
