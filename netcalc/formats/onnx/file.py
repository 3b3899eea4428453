"""Files of ONNX models: the model without the data of its tensors, which are read by their places."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.confinement import require_readable
from netcalc.diagnostics import RuleError
from netcalc.dtypes import ITEMSIZE
from netcalc.formats.onnx.elements import decoded, dtype_named, elements
from netcalc.formats.onnx.held import Held
from netcalc.formats.onnx.messages import Model, TensorProto, parsed_model
from netcalc.weights.stored import DamagedError, file_error, reading

#: Bytes of a file that are read at once.
_PIECE = 1 << 15
#: Bytes of tensors that are compared at once, a multiple of the size of every element type.
_COMPARED = 1 << 20
#: Beginning of the text that stands for a large file in a repository.
_POINTER = b"version https://git-lfs"


class Place(NamedTuple):
    """The bytes of a tensor: a file, the first byte in it, and their number."""

    path: Path
    start: int
    size: int


class OnnxFile:
    """A model with the way to the elements of its tensors."""

    def __init__(self, path: Path, model: Model) -> None:
        self.path = path
        self.model = model

    def elements(self, tensor: TensorProto) -> list[Any]:
        """Return the elements of a small tensor.

        Raises:
            NetcalcError: E605 if its data cannot be read.
            RuleError: an element type that netcalc lacks.
        """
        with reading(str(self.path)):
            if tensor.external is None:
                with opened_data(self.path) as data:
                    return elements(data, tensor)
            place = self.external(tensor)
            with place.path.open("rb") as file:
                file.seek(place.start)
                raw = file.read(place.size)
            return decoded(raw, dtype_named(tensor.kind), prod(tensor.shape), tensor.name)

    def external(self, tensor: TensorProto) -> Place:
        """Return the place of data in another file, which lies in the folder of the model or below.

        Raises:
            DamagedError: it lies elsewhere, or the numbers are none.
        """
        entries = tensor.external or {}
        location = entries.get("location", "")
        if "\0" in location:  # which no path has
            raise DamagedError(f"the data of {tensor.name[:80]!r} have no place")
        folder = Path(os.path.realpath(self.path.parent))
        path = Path(os.path.realpath(folder / location))
        if not location or Path(location).is_absolute() or not path.is_relative_to(folder):
            raise DamagedError(f"the data of {tensor.name[:80]!r} are in {location[:80]!r}, outside of its folder")
        require_readable(path)
        expected = prod(tensor.shape) * ITEMSIZE[dtype_named(tensor.kind)]
        numbers = [entries.get("offset", "0"), entries.get("length", str(expected))]
        if not all(number.isdecimal() and len(number) < 20 for number in numbers) or int(numbers[1]) != expected:
            raise DamagedError(f"the data of {tensor.name[:80]!r} should be {expected:,} bytes of {location[:80]!r}")
        return Place(path, int(numbers[0]), expected)

    def place(self, tensor: TensorProto) -> Place | None:
        """Return the place of the bytes of a tensor; None for elements that are lists of numbers.

        Raises:
            DamagedError: data outside of the folder, or of another length than the shape says.
        """
        if tensor.external is not None:
            return self.external(tensor)
        if tensor.raw is None:
            return None
        start, stop = tensor.raw
        expected = prod(tensor.shape) * ITEMSIZE[dtype_named(tensor.kind)]
        if stop - start != expected:
            raise DamagedError(f"{tensor.name[:80]!r} should have {expected:,} bytes, and has {stop - start:,}")
        return Place(self.path, start, expected)

    def lack(self, tensor: TensorProto) -> str | None:
        """Return why the data of a tensor in another file cannot be read, by its length alone; None if they can."""
        if tensor.external is None:
            return None
        try:
            place = self.external(tensor)
            length = place.path.stat().st_size
        except (OSError, DamagedError, RuleError):
            return f"has its data in {tensor.external.get('location', '')[:80]!r}, which is no file in its folder"
        if place.start + place.size > length:
            return f"ends behind {place.path.name[:80]!r}, which has {length:,} bytes"
        return None

    def are_copies(self, first: Held, second: Held) -> bool:
        """Return True for tensors with the same bytes, which are read until they differ, but not of one number alone.

        Bytes in a file that is not there are no copies of others.
        """
        if (first.scaling is None) != (second.scaling is None) or first.rows != second.rows:
            return False
        if first.scaling is not None and second.scaling is not None:
            parts = first.scaling, second.scaling
            if parts[0]._replace(scales=(), zero=None) != parts[1]._replace(scales=(), zero=None):
                return False
            pairs = [*zip(*(each.tensors for each in parts), strict=False)]
            if len(parts[0].tensors) != len(parts[1].tensors) or not all(self._are_equal(*pair) for pair in pairs):
                return False
        return self._are_same(first.tensor, second.tensor)

    def _are_equal(self, first: TensorProto, second: TensorProto) -> bool:
        if (first.kind, first.shape) != (second.kind, second.shape):
            return False
        return first == second or self.elements(first) == self.elements(second)

    def _are_same(self, first: TensorProto, second: TensorProto) -> bool:
        if (first.kind, first.shape) != (second.kind, second.shape):
            return False
        try:
            one, other = self.place(first), self.place(second)
            if one is None or other is None:
                return False
            return one == other or _same_bytes(one, other, ITEMSIZE[dtype_named(first.kind)])
        except (OSError, DamagedError, RuleError):
            return False


def _same_bytes(first: Place, second: Place, itemsize: int) -> bool:
    """Return True for places of the same bytes that are not all of one number."""
    varies = False
    with opened_data(first.path) as one, opened_data(second.path) as other:
        for at in range(0, first.size, _COMPARED):
            size = min(_COMPARED, first.size - at)
            piece = one[first.start + at : first.start + at + size]
            if piece != other[second.start + at : second.start + at + size]:
                return False
            varies = varies or piece != piece[:itemsize] * (size // itemsize)
    return varies


def open_onnx(path: str | Path) -> OnnxFile:
    """Return the model of a file, without data of tensors.

    Raises:
        NetcalcError: E605 if the file cannot be read, or holds no model.
    """
    path = Path(path)
    require_readable(path)
    with reading(str(path)), opened_data(path) as data:
        if data[0 : min(len(_POINTER), len(data))] == _POINTER:
            hint = "`git lfs pull` in the repository replaces it by the model"
            raise file_error(f"{path} is a pointer of Git LFS, and not the file that it stands for", hint)
        return OnnxFile(path, parsed_model(data))


class FileData:
    """Bytes of a file by their places, of which one piece is held.

    The file is not mapped: systems with large pages would count most of it as memory of the process.
    """

    def __init__(self, file: Any, length: int) -> None:
        self._file = file
        self._length = length
        self._start = 0
        self._piece = b""

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            first = key.start - self._start
            if first >= 0 and key.stop - self._start <= len(self._piece):
                return self._piece[first : key.stop - self._start]
            return self._read(key.start, key.stop - key.start)
        place = key - self._start
        if not 0 <= place < len(self._piece):
            self._start, place = key, 0
            self._piece = self._read(key, min(_PIECE, self._length - key))
        return self._piece[place]

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        data: bytes = self._file.read(size)
        if len(data) != size:
            raise DamagedError("it ends while it is read")
        return data


@contextmanager
def opened_data(path: Path) -> Iterator[FileData]:
    """Give the bytes of a regular file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedError("it is no regular file")
        if not status.st_size:
            raise DamagedError("the file is empty")
        yield FileData(file, status.st_size)
