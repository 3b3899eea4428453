"""Pictures of the documentation, small enough for pages that have several."""

from __future__ import annotations

from pathlib import Path

#: Bytes of a picture, and its colors.
MOST, COLORS = 60_000, 128


def shrink(path: Path) -> None:
    """Write a picture anew with few colors, which text and areas of one color do not need more of."""
    from PIL import Image

    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size <= MOST
