"""Header of a ``.safetensors`` file, read and written: 8 bytes with its length, then JSON.

The rules come from the reference implementation (https://github.com/huggingface/safetensors): the data of tensors
follow each other without gaps or overlaps, and fill the rest of the file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from netcalc.limits import MAX_STORED_TENSORS, MAX_TENSOR_HEADER
from netcalc.weights.stored import (
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

if TYPE_CHECKING:
    import numpy as np

#: Element types by their names in the file; other types keep those names.
ELEMENT_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "C64": "complex64",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
}
#: Types that netcalc does not have, with the name of their dtype in NumPy or ml_dtypes.
_OTHERS = {
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
}
_NAMES = {dtype: name for name, dtype in _OTHERS.items()}
_KEYS = {"dtype", "shape", "data_offsets"}


def type_name(dtype: np.dtype[Any]) -> str:
    """Return the name that headers have for elements of a NumPy dtype."""
    return _NAMES.get(dtype.name, dtype.name)


def read_safetensors_header(file: io.RawIOBase | io.BufferedIOBase, length: int) -> dict[str, Stored]:
    """Return the tensors of a file of ``length`` bytes by name.

    Raises:
        DamagedError: the header or the length of the file does not follow the format.
    """
    size, entries, _ = _header(file, length)
    if len(entries) > MAX_STORED_TENSORS:
        raise DamagedError(f"it holds {len(entries):,} tensors, and the limit is {MAX_STORED_TENSORS:,}")
    _require_contiguous(entries, length - size - 8)
    kinds = _Kinds()
    for name, entry in entries.items():  # in place: a header of many tensors takes much memory
        entries[name] = _stored(name, entry, size + 8, kinds)
    return entries


def read_safetensors_metadata(file: io.RawIOBase | io.BufferedIOBase, length: int) -> dict[str, str]:
    """Return the texts by name that a file of ``length`` bytes holds besides its tensors.

    Raises:
        DamagedError: the header does not follow the format.
    """
    return _header(file, length)[2]


def _header(file: io.RawIOBase | io.BufferedIOBase, length: int) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Return the bytes of the header, the entries of tensors as they are written, and the metadata."""
    size = int.from_bytes(exactly(file, 8, "the length of its header"), "little")
    if size > length - 8:
        raise DamagedError(f"its header should have {size:,} bytes, and the file has {length:,}")
    if size > MAX_TENSOR_HEADER:
        raise DamagedError(f"its header has {size:,} bytes, and the limit is {MAX_TENSOR_HEADER:,}")
    entries = parsed_json(exactly(file, size, "its header"))
    if not isinstance(entries, dict):
        raise DamagedError("its header is no mapping of names")
    metadata = entries.pop("__metadata__", None)
    if metadata is None:  # as mlx writes it, or left out
        metadata = {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise DamagedError("its __metadata__ is no mapping of text")
    return size, entries, metadata


def safetensors_header(tensors: Mapping[str, np.ndarray[Any, Any]], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return the header of a file that holds the data of ``tensors`` in their order, its length included.

    ``metadata`` are texts by name.

    Raises:
        ValueError: the format has no such elements.
    """
    kinds = {name: kind for kind, name in (ELEMENT_TYPES | _OTHERS).items()}
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
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
        if entry.__class__ is not dict or entry.keys() != _KEYS:
            raise DamagedError(f"{clipped(name)} should have dtype, shape and data_offsets")
        try:
            start, stop = entry["data_offsets"]
        except (TypeError, ValueError):
            start = stop = None
        if start.__class__ is not int or stop.__class__ is not int or entry["data_offsets"].__class__ is not list:
            raise DamagedError(f"the data_offsets of {clipped(name)} should be two numbers")
        ranges.append((start, stop, name))
    end = 0
    for start, stop, name in sorted(ranges):
        if start != end or stop < start:
            raise DamagedError(f"the data of {clipped(name)} overlap others, or leave a gap")
        end = stop
    if end > length:
        raise DamagedError(f"it ends too early: its tensors have {end:,} bytes, and the file has {length:,} for them")
    if end < length:
        raise DamagedError(f"{length - end:,} bytes belong to no tensor")


class _Kinds(dict[str, tuple[Header, str | None, int | None]]):
    """Headers of one file by element type and shape as they are written: the header, the dtype and the bytes.

    The dtype is None if NumPy has no such elements, and the bytes if the element type is not known.
    """

    def add(self, key: str, name: str, entry: Mapping[str, Any]) -> tuple[Header, str | None, int | None]:
        """Return the header of an entry, and keep it for others like it.

        Raises:
            DamagedError: the entry has no valid element type or shape.
        """
        kind, sizes = entry["dtype"], entry["shape"]
        if not isinstance(kind, str) or not (isinstance(sizes, list) and all(type(n) is int and n >= 0 for n in sizes)):
            raise DamagedError(f"{clipped(name)} has no valid element type or shape")
        shape = tuple(sizes)
        require_axes(shape, name)
        element = ELEMENT_TYPES.get(kind, kind)
        bits = BITS.get(element)
        start, stop = entry["data_offsets"]
        header = Header(shape, element, None if bits is not None else stop - start)
        size = None if bits is None else stored_bytes(shape, bits, stop - start)
        parsed = header, ELEMENT_TYPES.get(kind) or _OTHERS.get(kind), size
        if size is not None and size == stop - start:
            self[key] = parsed
        return parsed


def _stored(name: str, entry: Mapping[str, Any], data: int, kinds: _Kinds) -> Stored:
    start, stop = entry["data_offsets"]
    key = f"{entry['dtype']!r}{entry['shape']}"  # as text, in which 1, 1.0 and true differ
    header, dtype, size = kinds.get(key) or kinds.add(key, name, entry)
    if size is not None and size != stop - start:
        raise DamagedError(f"{clipped(name)} has {stop - start:,} bytes, which its shape and element type do not give")
    return Stored(header, dtype, data + start)
