"""Messages in the wire format of Protocol Buffers, written in parts, so that weights are not held together."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

_VARINT, _BYTES, _FIXED32 = 0, 2, 5


class Blob(NamedTuple):
    """Bytes of a known length, which are made when they are written."""

    length: int
    read: Callable[[], bytes]


class Message:
    """A message that is being written: its parts in order, and their bytes together."""

    def __init__(self) -> None:
        self._parts: list[bytes | Blob] = []
        self.size = 0

    def integer(self, number: int, value: int) -> None:
        """Add a field with a whole number."""
        self._add(_varint(number << 3 | _VARINT) + _varint(value))

    def real(self, number: int, value: float) -> None:
        """Add a field with a number in single precision."""
        self._add(_varint(number << 3 | _FIXED32) + struct.pack("<f", value))

    def text(self, number: int, value: str) -> None:
        """Add a field with a text."""
        encoded = value.encode("utf-8")
        self._add(_varint(number << 3 | _BYTES) + _varint(len(encoded)) + encoded)

    def texts(self, number: int, values: Iterable[str]) -> None:
        """Add a field for each of some texts."""
        for value in values:
            self.text(number, value)

    def integers(self, number: int, values: Sequence[int]) -> None:
        """Add a packed field with whole numbers."""
        packed = b"".join(map(_varint, values))
        self._add(_varint(number << 3 | _BYTES) + _varint(len(packed)) + packed)

    def reals(self, number: int, values: Sequence[float]) -> None:
        """Add a packed field with numbers in single precision."""
        packed = struct.pack(f"<{len(values)}f", *values)
        self._add(_varint(number << 3 | _BYTES) + _varint(len(packed)) + packed)

    def blob(self, number: int, blob: Blob) -> None:
        """Add a field with bytes that are made when they are written."""
        self._add(_varint(number << 3 | _BYTES) + _varint(blob.length))
        self._parts.append(blob)
        self.size += blob.length

    def message(self, number: int, inner: Message) -> None:
        """Add a field with a message."""
        self._add(_varint(number << 3 | _BYTES) + _varint(inner.size))
        self._parts += inner._parts
        self.size += inner.size

    def _add(self, part: bytes) -> None:
        if self._parts and isinstance(self._parts[-1], bytes) and len(self._parts[-1]) < 4096:
            self._parts[-1] += part
        else:
            self._parts.append(part)
        self.size += len(part)

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes of the message."""
        for part in self._parts:
            yield part if isinstance(part, bytes) else part.read()


def _varint(value: int) -> bytes:
    """Return a whole number of 64 bits in variable length."""
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
