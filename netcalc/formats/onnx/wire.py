"""Fields of messages in the wire format of Protocol Buffers, which are read from a file one after the other.

Bytes that nothing asks for are skipped, so that the data of tensors stay on the disk.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from netcalc.weights.stored import DamagedError

#: Bytes by their places, of a file or in memory.
Data: TypeAlias = Any


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
#: Bytes of a text or of a list of numbers; data of tensors are longer.
_LONGEST = 1 << 26


class Field(NamedTuple):
    """A field: its number, and its value, an integer or the bounds of its bytes in the data."""

    number: int
    value: int
    start: int = -1
    stop: int = -1

    @property
    def span(self) -> tuple[int, int]:
        """First byte, and the one behind the last."""
        if self.start < 0:
            raise DamagedError(f"field {self.number} should have bytes")
        return self.start, self.stop


def fields(data: Data, start: int, stop: int) -> Iterator[Field]:
    """Yield the fields of a message between two places.

    Raises:
        DamagedError: the bytes are no message.
    """
    place = start
    while place < stop:
        key, place = varint(data, place, stop)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = varint(data, place, stop)
            yield Field(number, value)
        elif kind == _BYTES:
            length, place = varint(data, place, stop)
            if length > stop - place:
                raise DamagedError(f"a field of {length:,} bytes ends after its message")
            yield Field(number, length, place, place + length)
            place += length
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
            if length > stop - place:
                raise DamagedError("a number is cut off")
            yield Field(number, int.from_bytes(data[place : place + length], "little"), place, place + length)
            place += length
        else:
            raise DamagedError(f"a field of the unknown wire type {kind}")


def varint(data: Data, place: int, stop: int) -> tuple[int, int]:
    """Return an unsigned integer of variable length, and the place behind it."""
    value = shift = 0
    while place < stop and shift < 70:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise DamagedError("a number is cut off")


def signed(value: int) -> int:
    """Return the integer of 64 bits, with a sign, that an unsigned one stands for."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= 1 << 63 else value


def text(data: Data, field: Field) -> str:
    """Return the text of a field; characters that are not valid are replaced."""
    start, stop = _short(field)
    return bytes(data[start:stop]).decode("utf-8", "replace")


def _short(field: Field) -> tuple[int, int]:
    """Return the bounds of a field that is no data of a tensor."""
    start, stop = field.span
    if stop - start > _LONGEST:
        raise DamagedError(f"a text or list of {stop - start:,} bytes")
    return start, stop


def integers(data: Data, field: Field) -> Iterator[int]:
    """Yield the integers of a repeated field, packed or single."""
    if field.start < 0:
        yield signed(field.value)
        return
    place, stop = _short(field)
    while place < stop:
        value, place = varint(data, place, stop)
        yield signed(value)


def floats(data: Data, field: Field, kind: str = "f") -> tuple[float, ...]:
    """Return the floating-point numbers of a repeated field, packed or single; ``kind`` is that of ``struct``."""
    start, stop = _short(field)
    size = struct.calcsize(kind)
    if (stop - start) % size:
        raise DamagedError("a list of numbers is cut off")
    return struct.unpack(f"<{(stop - start) // size}{kind}", data[start:stop])
