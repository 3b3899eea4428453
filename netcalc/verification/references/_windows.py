"""Positions of sliding windows, found by moving a window along an axis instead of by a formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

Shape = tuple[int, ...]


def pads_of(padding: Any, sizes: Sequence[int], kernel: Shape, stride: Shape, dilation: Shape) -> list[tuple[int, int]]:
    """Return the padding before and after each axis.

    ``same`` is PyTorch's rule, which keeps the size at stride 1; ``same_upper`` and ``same_lower`` are ONNX's rules.
    """
    if not isinstance(padding, str):
        return [tuple(pair) for pair in padding]
    if padding == "valid":
        return [(0, 0)] * len(sizes)
    pairs = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        windows = len(range(0, size, s))  # one window for each start inside the axis
        missing = d * (k - 1) if padding == "same" else max((windows - 1) * s + d * (k - 1) + 1 - size, 0)
        small, large = missing // 2, missing - missing // 2
        pairs.append((large, small) if padding == "same_lower" else (small, large))
    return pairs


def starts(size: int, pads: tuple[int, int], kernel: int, stride: int, dilation: int, *, ceil_mode: bool) -> list[int]:
    """Return the first position of each window along an axis; positions in the padding before it are negative.

    With ``ceil_mode`` a window may reach past the padding if it starts inside the input or the padding before it, as in
    PyTorch.
    """
    before, after = pads
    places: list[int] = []
    start = -before
    while start + dilation * (kernel - 1) < size + after:
        places.append(start)
        start += stride
    complete = bool(places) and places[-1] + dilation * (kernel - 1) + 1 == size + after
    if ceil_mode and not complete and start < size:
        places.append(start)
    return places


def positions(start: Sequence[int], kernel: Shape, dilation: Shape) -> Iterator[Shape]:
    """Yield the positions of a window, in row-major order, those in the padding included."""
    for tap in product(*map(range, kernel)):
        yield tuple(first + t * d for first, t, d in zip(start, tap, dilation, strict=True))


def positions_inside(start: Sequence[int], kernel: Shape, dilation: Shape, sizes: Sequence[int]) -> Iterator[Shape]:
    """Yield the positions of a window that are not in the padding, in row-major order."""
    axes = zip(start, kernel, dilation, sizes, strict=True)
    yield from product(*([at for at in range(a, a + k * d, d) if 0 <= at < size] for a, k, d, size in axes))


def source(place: int, size: int, mode: str) -> int | None:
    """Return the position that a position in the padding repeats; None if it has the value of the padding."""
    if 0 <= place < size or mode in ("zeros", "constant"):
        return place if 0 <= place < size else None
    if mode == "replicate":
        return 0 if place < 0 else size - 1
    while not 0 <= place < size:
        if mode == "circular":
            place += size if place < 0 else -size
        else:  # a mirror at the center of the outermost element
            place = -place if place < 0 else 2 * (size - 1) - place
    return place


def placed(
    sizes: Sequence[int], pads: Sequence[tuple[int, int]], kernel: Shape, stride: Shape, dilation: Shape
) -> list[list[int]]:
    """Return the first position of each window, for each axis, without ``ceil_mode``."""
    every = zip(sizes, pads, kernel, stride, dilation, strict=True)
    return [starts(*axis, ceil_mode=False) for axis in every]


def touched(i: int, size: int, out: int) -> range:
    """Return the elements of an axis that the part from i/out to (i + 1)/out of it touches."""
    elements = np.arange(size)
    read = elements[((elements + 1) * out > i * size) & (elements * out < (i + 1) * size)]
    return range(int(read[0]), int(read[-1]) + 1)
