"""Widths of texts in pictures."""

from __future__ import annotations

#: Widths of the characters from U+0020 to U+007E in hundredths of the size of the font, as DejaVu Sans has them: it is
#: wider than the other fonts that a picture is shown in, so that a text fits in all of them.
_WIDTHS = (
    *(32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34),
    *(34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74),
    *(69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64),
    *(64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84),
)
#: Width of bold characters, as a factor.
_BOLD = 1.13


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in pixels, at least that in every usual font without serifs."""
    total = sum(_WIDTHS[code - 32] if 32 <= (code := ord(c)) < 127 else _other(code) for c in text)
    return total * size / 100 * (_BOLD if bold else 1)


def _other(code: int) -> int:
    return 84 if code < 0x1100 else 101 if 0x2000 <= code < 0x2070 else 130


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return the text, shortened in its middle to a width."""
    length = min(len(text), int(width / (min(_WIDTHS) * size / 100)) + 2)  # more characters have no room
    if length == len(text) and text_width(text, size, bold=bold) <= width:
        return text
    while True:
        half = length // 2
        cut = f"{text[: length - half]}…{text[len(text) - half :]}" if length < len(text) else text
        if length <= 2 or text_width(cut, size, bold=bold) <= width:
            return cut
        length -= 1
