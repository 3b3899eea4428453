"""Header of a ``.gguf`` file: metadata, and the names, shapes, types and places of its tensors.

The rules come from llama.cpp (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2 and 3 in either
byte order.  The reader of the library ``gguf`` trusts the numbers in a file, so that netcalc reads the header itself.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from math import prod
from typing import Any, Literal, NamedTuple

from netcalc.limits import MAX_STORED_TENSORS, MAX_STORED_VALUES
from netcalc.weights.gguf.types import TYPES
from netcalc.weights.stored import DamagedError, clipped, exactly

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
#: Kinds of values by their numbers, as ``struct`` writes them.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_FLOAT, _STRING, _ARRAY = 6, 8, 9
_ALIGNMENT = 32
_MAX_AXES = 4
#: Bytes of a name.
_MAX_NAME = 65_535
#: Bytes of a text, and items of an array, that are read.
_READ_TEXT = 65_536
_READ_ITEMS = 4_096
#: Bytes that are read at a time where texts are skipped.
_CHUNK = 1 << 20


class Unread(NamedTuple):
    """A long text or array, such as the tokens of a vocabulary, of which the length alone is read."""

    items: int


class GgufTensor(NamedTuple):
    """A tensor in a file.

    ``shape`` is the array's, the reverse of the sizes in the file, ``type`` the name of its elements' type; the
    ``size`` bytes of data begin at ``start`` of the file.
    """

    shape: tuple[int, ...]
    type: str
    start: int
    size: int


class GgufHeader(NamedTuple):
    """Metadata by key, tensors by name, the bytes of the file and ``struct``'s sign of its byte order."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]
    length: int
    order: Literal["<", ">"]


def read_gguf_header(file: io.BufferedReader, length: int) -> GgufHeader:
    """Return the header of a file of ``length`` bytes.

    Raises:
        DamagedError: the header or the length of the file does not follow the format.
    """
    if exactly(file, 4, "its first bytes") != _MAGIC:
        raise DamagedError("it does not begin with GGUF")
    version = exactly(file, 4, "its version")
    order: Literal["<", ">"] = ">" if version[:2] == b"\0\0" else "<"
    reader = _Reader(file, length, order)
    (number,) = struct.unpack(f"{order}I", version)
    if number not in _VERSIONS:
        raise DamagedError(f"its version is {number:,}, and versions 2 and 3 are known")
    tensors, pairs = reader.number("Q"), reader.number("Q")
    if tensors > MAX_STORED_TENSORS:
        raise DamagedError(f"it holds {tensors:,} tensors, and the limit is {MAX_STORED_TENSORS:,}")
    metadata = reader.metadata(pairs)
    alignment = metadata.get("general.alignment", _ALIGNMENT)
    if type(alignment) is not int or not 0 < alignment < 1 << 32 or alignment & (alignment - 1):
        raise DamagedError("its general.alignment is no power of 2")
    entries = reader.entries(tensors)
    data = -(-file.tell() // alignment) * alignment
    return GgufHeader(metadata, _placed_tensors(entries, data, alignment, length), length, order)


class _Reader:
    """Values of a file, one after the other, with a bound on their number."""

    def __init__(self, file: io.BufferedReader, length: int, order: Literal["<", ">"]) -> None:
        self.file = file
        self.length = length
        self.order = order
        self.values = 0
        self.formats = {code: struct.Struct(order + code) for code in _NUMBERS.values()}

    def number(self, code: str) -> Any:
        """Return the number that is next."""
        form = self.formats[code]
        return form.unpack(exactly(self.file, form.size, "a number"))[0]

    def text(self, what: str, most: int = _MAX_NAME) -> str:
        """Return the text that is next, of at most ``most`` bytes."""
        size = self.number("Q")
        if size > most:
            raise DamagedError(f"{what} of {size:,} bytes, and the limit is {most:,}")
        try:
            return exactly(self.file, size, what).decode()
        except UnicodeDecodeError:
            raise DamagedError(f"{what} that is not UTF-8 text") from None

    def metadata(self, pairs: int) -> dict[str, Any]:
        """Return so many values by key."""
        self._count(pairs)
        values: dict[str, Any] = {}
        for _ in range(pairs):
            key = self.text("a key")
            if key in values:
                raise DamagedError(f"the key {clipped(key)} stands in it twice")
            values[key] = self._value(self.number("I"), key)
        return values

    def entries(self, count: int) -> dict[str, tuple[tuple[int, ...], int, int]]:
        """Return the shape, the number of the type and the offset of so many tensors, by name."""
        self._count(count)
        entries: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for _ in range(count):
            name = self.text("the name of a tensor")
            if name in entries:
                raise DamagedError(f"the tensor {clipped(name)} stands in it twice")
            axes = self.number("I")
            if axes > _MAX_AXES:
                raise DamagedError(f"{clipped(name)} has {axes:,} axes, and a tensor has at most {_MAX_AXES}")
            shape = tuple(self.number("Q") for _ in range(axes))[::-1]
            entries[name] = (shape, self.number("I"), self.number("Q"))
        return entries

    def _count(self, values: int) -> None:
        self.values += values
        if self.values > MAX_STORED_VALUES:
            raise DamagedError(f"more than {MAX_STORED_VALUES:,} values in its header")

    def _value(self, kind: int, key: str) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _NUMBERS:
            raise DamagedError(f"{clipped(key)} has the type {kind:,}, which is not known")
        return self._numbers(kind, 1)[0]

    def _array(self, key: str) -> Any:
        kind, count = self.number("I"), self.number("Q")
        if kind == _STRING:
            self._count(count)
            return [self._string() for _ in range(count)] if count <= _READ_ITEMS else self._skipped_strings(count)
        if kind not in _NUMBERS:
            raise DamagedError(f"{clipped(key)} is an array of type {kind:,}, which is not known")
        if count <= _READ_ITEMS:
            return self._numbers(kind, count)
        self._skip(count * struct.calcsize(f"<{_NUMBERS[kind]}"), f"the array {clipped(key)}")
        return Unread(count)

    def _numbers(self, kind: int, count: int) -> list[Any]:
        form = struct.Struct(f"{self.order}{count}{_NUMBERS[kind]}")
        values = form.unpack(exactly(self.file, form.size, "a value"))
        return [shortest(value) for value in values] if kind == _FLOAT else list(values)

    def _string(self) -> str | Unread:
        size = self.number("Q")
        if size <= _READ_TEXT:
            return exactly(self.file, size, "a text").decode(errors="replace")
        self._skip(size, "a text")
        return Unread(size)

    def _skipped_strings(self, count: int) -> Unread:
        form, position, data, first = self.formats["Q"], self.file.tell(), b"", 0
        for _ in range(count):
            if position + form.size > first + len(data):
                self.file.seek(position)
                first, data = position, self.file.read(_CHUNK)
                if len(data) < form.size:
                    raise DamagedError("it ends within a text")
            position += form.size + form.unpack_from(data, position - first)[0]
            if position > self.length:
                raise DamagedError("it ends within a text")
        self.file.seek(position)
        return Unread(count)

    def _skip(self, size: int, what: str) -> None:
        if size > self.length - self.file.tell():
            raise DamagedError(f"it ends within {what}")
        self.file.seek(size, io.SEEK_CUR)


def shortest(value: float) -> float:
    """Return the decimal number with the fewest digits that a 32-bit number stands for: 1e-06, not 9.99999997e-07."""
    packed = struct.pack("<f", value)
    for digits in range(6, 10):
        decimal = float(f"{value:.{digits}g}")
        if abs(decimal) < 3.4e38 and struct.pack("<f", decimal) == packed:
            return decimal
    return value


def _placed_tensors(
    entries: Mapping[str, tuple[tuple[int, ...], int, int]], data: int, alignment: int, length: int
) -> dict[str, GgufTensor]:
    """Return the tensors, with their places in the file, which may not overlap."""
    tensors: dict[str, GgufTensor] = {}
    for name, (shape, kind, offset) in entries.items():
        if kind not in TYPES:
            raise DamagedError(f"{clipped(name)} has elements of type {kind:,}, which is not known")
        type_name, block, bytes_ = TYPES[kind]
        if shape and shape[-1] % block:
            raise DamagedError(f"{clipped(name)} has rows of {shape[-1]:,}, which blocks of {block} do not fill")
        if offset % alignment:
            raise DamagedError(f"the data of {clipped(name)} are not aligned to {alignment:,} bytes")
        tensors[name] = GgufTensor(shape, type_name, data + offset, prod(shape) // block * bytes_)
    end, before = data, ""
    for start, stop, name in sorted((t.start, t.start + t.size, name) for name, t in tensors.items()):
        if start < end:
            raise DamagedError(f"the data of {clipped(name)} overlap the data of {clipped(before)}")
        if stop > length:
            raise DamagedError(f"it ends too early: {clipped(name)} ends at byte {stop:,} of {length:,}")
        end, before = stop, name
    return tensors
