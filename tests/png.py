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
        channels = self.channels
        return {color for row in self.rows for color in zip(*(row[n::channels] for n in range(3)), strict=True)}


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
    if kind == 2:
        return bytes([(value + up) & 255 for value, up in zip(line, above, strict=True)])
    for n, up in enumerate(above) if kind else ():
        left = row[n - channels] if n >= channels else 0
        if kind == 1:
            row[n] = (row[n] + left) & 255
        elif kind == 3:
            row[n] = (row[n] + (left + up) // 2) & 255
        else:
            corner = above[n - channels] if n >= channels else 0
            row[n] = (row[n] + _nearest(left, up, corner)) & 255
    return bytes(row)


def _nearest(left: int, up: int, corner: int) -> int:
    """Return the first of three neighbors that is nearest to left + up − corner."""
    from_left, from_up, from_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if from_left <= from_up and from_left <= from_corner:
        return left
    return up if from_up <= from_corner else corner
