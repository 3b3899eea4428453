"""Pixels of PNG files of 8 bits for a channel, as their specification defines them."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import pytest

from netcalc.diagnostics import NetcalcError


def require_png() -> None:
    """Skip a test where pictures cannot be written as PNG: without resvg-py, or on a system without fonts."""
    pytest.importorskip("resvg_py")
    from netcalc.render.rasterizer import sans_serif

    try:
        sans_serif()
    except NetcalcError as error:
        pytest.skip(error.diagnostics[0].message)


class Picture(NamedTuple):
    """Pixels of a picture, row by row."""

    width: int
    height: int
    channels: int
    rows: list[bytes]

    def at(self, x: int, y: int) -> tuple[int, ...]:
        """Return red, green and blue of a pixel."""
        return tuple(self.rows[y][x * self.channels : x * self.channels + 3])

    def colors(self) -> set[tuple[int, ...]]:
        """Return all colors."""
        return {self.at(x, y) for y in range(self.height) for x in range(self.width)}


def decoded(content: bytes) -> Picture:
    """Return the pixels of a file without interlacing."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    place = 8
    while place < len(content):
        (size,) = struct.unpack_from(">I", content, place)
        kind = content[place + 4 : place + 8]
        chunks[kind] = chunks.get(kind, b"") + content[place + 8 : place + 8 + size]
        place += size + 12
    width, height, depth, color, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    channels = {2: 3, 6: 4}[color]
    data = zlib.decompress(chunks[b"IDAT"])
    rows: list[bytes] = []
    above = bytes(width * channels)
    for number in range(height):
        start = number * (width * channels + 1)
        above = _unfiltered(data[start], data[start + 1 : start + 1 + width * channels], above, channels)
        rows.append(above)
    return Picture(width, height, channels, rows)


def _unfiltered(kind: int, line: bytes, above: bytes, channels: int) -> bytes:
    row = bytearray(line)
    for n, up in enumerate(above):
        left = row[n - channels] if n >= channels else 0
        corner = above[n - channels] if n >= channels else 0
        match kind:
            case 1:
                row[n] = (row[n] + left) & 255
            case 2:
                row[n] = (row[n] + up) & 255
            case 3:
                row[n] = (row[n] + (left + up) // 2) & 255
            case 4:
                guess = left + up - corner
                near = min((left, up, corner), key=lambda value: abs(guess - value))
                row[n] = (row[n] + near) & 255
    return bytes(row)
