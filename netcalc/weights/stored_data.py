"""Data of tensors, read from files into arrays."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.process_memory import format_bytes, free_bytes
from netcalc.weights.pieces import Part, elements_before, pieces
from netcalc.weights.stored import DamagedError, Stored, clipped, stored_bytes

#: Bytes that are read at a time.
_CHUNK = 1 << 20
#: Bytes of a tensor below which free memory, whose reading takes time, is not looked at.
_SMALL = 64 << 20


def load_stored(file: io.RawIOBase | io.BufferedIOBase, stored: Stored) -> Array:
    """Return the tensor whose data begin at the position of the file, in the byte order of this machine.

    Raises:
        DamagedError: NumPy has no such elements, or the data end before.
        MemoryError: less memory is free.
    """
    array = allocated(stored.header.shape, _dtype(stored).newbyteorder("="), fortran=stored.fortran)
    write_stored(file, stored, Part.whole(array, array.dtype))
    return array


def allocated(shape: tuple[int, ...], dtype: np.dtype[Any], *, fortran: bool = False) -> Array:
    """Return an array without content, its first axis the innermost in memory if ``fortran``.

    Raises:
        MemoryError: less memory is free.
    """
    size = stored_bytes(shape, 8 * dtype.itemsize, 1 << 62)
    if size > _SMALL and size > (free := free_bytes()):
        raise MemoryError(f"a tensor of {format_bytes(size)}, and {format_bytes(free)} is free")
    return np.empty(shape, dtype, "F" if fortran else "C")


def write_stored(file: io.RawIOBase | io.BufferedIOBase, stored: Stored, part: Part) -> None:
    """Write a part of the tensor whose data begin at the position of the file to its place, piece by piece.

    Raises:
        DamagedError: NumPy has no such elements, or the data end before.
    """
    shape, dtype = stored.header.shape, _dtype(stored)
    if stored.fortran:
        shape, part = shape[::-1], part.transposed(range(len(shape))[::-1])
    same, position = dtype == part.dtype == part.out.dtype and dtype.kind != "b", 0
    for index in pieces(shape, dtype.itemsize, part.ranges):
        target, depth = part.placed(index), len(index)
        start = dtype.itemsize * elements_before(shape, index)
        _skip(file, start - position)
        read = (*(place.stop - place.start for place in index[-1:] if isinstance(place, slice)), *shape[depth:])
        position = start + dtype.itemsize * math.prod(read)
        if same and target.shape == read and target.flags.c_contiguous:
            _fill(file, target.reshape(-1).view(np.uint8))
            continue
        data = np.empty(position - start, np.uint8)
        _fill(file, data)
        # a byte other than 0 and 1 is True, and not another boolean
        block = (data != 0 if dtype.kind == "b" else data.view(dtype)).reshape(read)
        part.put(target, block[(slice(None),) * min(depth, 1) + part.slices[depth:]])
    if not file.seekable():  # a member of an archive: its checksum is compared at its end
        _skip(file, dtype.itemsize * math.prod(shape) - position)


def _fill(file: io.RawIOBase | io.BufferedIOBase, data: Array) -> None:
    """Fill an array of bytes with the next ones of a file.

    Raises:
        DamagedError: the file ends before.
    """
    view, done = data.data, 0
    while done < len(data):
        count = file.readinto(view[done : done + _CHUNK])
        if not count:
            raise DamagedError("its data end too early")
        done += count


def _skip(file: io.RawIOBase | io.BufferedIOBase, count: int) -> None:
    """Move forward in a file; the bytes of one that cannot seek are read."""
    if file.seekable():
        file.seek(count, io.SEEK_CUR)
        return
    data = np.empty(min(count, _CHUNK), np.uint8)
    while count:
        _fill(file, data[:count])
        count -= min(count, len(data))


def _dtype(stored: Stored) -> np.dtype[Any]:
    """Return the dtype of a tensor's elements as they are in the file.

    Raises:
        DamagedError: NumPy has no such elements.
    """
    if stored.dtype is None:
        raise DamagedError(f"elements of type {clipped(stored.header.dtype)} cannot be read")
    return numpy_dtype(stored.dtype).newbyteorder(stored.order)
