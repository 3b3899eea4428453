"""Masks of attention in shifted windows, which Swin transformers store, as lines that compute them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple


class _Windows(NamedTuple):
    """Numbers of windows along an image's height and width, their sizes, and the shifts."""

    counts: tuple[int, int]
    sizes: tuple[int, int]
    shifts: tuple[int, int]

    def region(self, window: int, place: int) -> tuple[bool, bool]:
        """Return the region of a place: whether the shift brought it there from the other end, along each axis."""
        window_at, place_at = divmod(window, self.counts[1]), divmod(place, self.sizes[1])
        down, across = (
            w * size + p >= count * size - shift
            for w, p, count, size, shift in zip(window_at, place_at, *self, strict=True)
        )
        return down, across


def shifted_window_lines(array: Any, dtype: str) -> list[dict[str, Any]] | None:
    """Return lines that compute a mask (windows, places, places); None if the array is no such mask.

    The mask is 0 for two places of a window that lie together in the image, and another number for two that the shift
    brought together.
    """
    shape = tuple(array.shape)
    if len(shape) < 3 or shape[-1] != shape[-2] or shape[-1] < 2:
        return None
    masks = array.reshape(-1, *shape[-2:])
    hidden = next((number for number in (masks.min(), masks.max()) if number != 0), None)
    if hidden is None or not ((masks == 0) | (masks == hidden)).all() or masks[:, 0, 0].any():
        return None
    for windows in _candidates(masks):
        if _same_masks(windows, masks):
            return list(_mask_lines(windows, shape, float(str(hidden)), dtype))
    return None


def _candidates(masks: Any) -> Iterator[_Windows]:
    """Yield the windows that the last mask leaves possible, squares first."""
    last = masks[-1, 0]
    for count, size in product(_factors(len(masks)), _factors(len(last))):
        down, across = last[:: size[1]], last[: size[1]]
        yield _Windows(count, size, (int((down != 0).sum()), int((across != 0).sum())))


def _factors(number: int) -> list[tuple[int, int]]:
    pairs = [(a, number // a) for a in range(1, number + 1) if number % a == 0]
    return sorted(pairs, key=lambda pair: abs(math.log(pair[0] / pair[1])))


def _same_masks(windows: _Windows, masks: Any) -> bool:
    places = range(masks.shape[-1])
    expected: dict[tuple[tuple[bool, bool], ...], list[list[bool]]] = {}
    for number in reversed(range(len(masks))):
        regions = tuple(windows.region(number, place) for place in places)
        if regions not in expected:
            expected[regions] = [[mine != other for other in regions] for mine in regions]
        if ((masks[number] != 0) != expected[regions]).any():
            return False
    return True


def _mask_lines(windows: _Windows, shape: tuple[int, ...], hidden: float, dtype: str) -> Iterator[dict[str, Any]]:
    """Yield lines that number the regions of the image, and compare the numbers of two places."""
    heights, widths = zip(*windows, strict=True)
    for name, (count, size, shift), axes in (("rows", heights, (0, 2)), ("columns", widths, (1, 3))):
        yield {"arange": count * size}
        yield {"greater_equal": count * size - shift}
        yield {"cast": "int64"}
        if name == "rows":
            yield {"mul": 2}
        yield {"name": name, "reshape": [{axes[0]: count, axes[1]: size}.get(axis, 1) for axis in range(4)]}
    yield {"add": None, "from": ["rows", "columns"]}
    yield {"name": "regions", "reshape": [math.prod(windows.counts), -1, 1]}
    yield {"name": "across", "transpose": [1, 2]}
    yield {"not_equal": None, "from": ["regions", "across"]}
    yield {"cast": dtype}
    yield {"mul": hidden}
    if len(shape) != 3:
        yield {"reshape": list(shape)}
