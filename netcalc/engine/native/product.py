"""Products of windows of images with packed filters, and the operations that follow, by a compiled kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.native.epilogue import Epilogue
from netcalc.engine.native.library import blocks, bound
from netcalc.engine.native.windows import Geometry, Windows

#: Windows of a step, at most: what they read stays in the second-level cache.
_MOST_STEP = 192


class _Product(ctypes.Structure):
    _fields_ = (
        ("windows", Windows),
        ("epilogue", ctypes.POINTER(Epilogue)),
        ("taps", ctypes.c_void_p),
        ("step", ctypes.c_ssize_t),
        ("out_stride", ctypes.c_ssize_t),
    )


class _Panels(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("panels", "scratch")),
        *((name, ctypes.c_ssize_t) for name in ("columns", "depth")),
    )


def packed_columns(columns: int) -> int:
    """Return the columns of packed filters of a group, zeros included."""
    size = blocks()
    assert size is not None
    return -(-columns // size.lanes) * size.lanes


def column_unit() -> int:
    """Return the columns at whose multiples packed filters can be cut."""
    size = blocks()
    assert size is not None
    return size.width


def filters_in(panels: Array, columns: int) -> Array:
    """Return the place of the filters of a group, (columns, depth), before they are packed."""
    depth = panels.shape[-1]
    return panels.reshape(-1)[: columns * depth].reshape(columns, depth)


def pack(panels: Array, columns: int) -> None:
    """Pack the filters of a group in place.

    Args:
        panels: (packed columns, depth) of float32; :func:`filters_in` has the filters.
        columns: number of filters.
    """
    depth = panels.shape[-1]
    scratch = np.empty((column_unit(), depth), np.float32)
    arguments = _Panels(panels.ctypes.data, scratch.ctypes.data, columns, depth)
    bound("panels", arguments, panels, scratch)()


def pack_columns(panels: Array, rows: Array, columns: int, start: int) -> None:
    """Write some of the depth of all filters of a group to their packed place.

    Args:
        panels: (packed columns, depth) of float32.
        rows: (some of the depth, columns), the filters as columns.
        columns: number of filters.
        start: the first of the depth that ``rows`` have.
    """
    depth, width, stop = panels.shape[-1], column_unit(), start + len(rows)
    whole = columns // width
    flat, split = panels.reshape(-1), whole * width
    np.copyto(
        flat[: split * depth].reshape(whole, depth, width)[:, start:stop].swapaxes(0, 1),
        rows[:, :split].reshape(len(rows), whole, width),
    )
    if split < columns:
        last = flat[split * depth :].reshape(depth, -1)[start:stop]
        last[:, : columns - split] = rows[:, split:]
        last[:, columns - split :] = 0


class PackedRows:
    """Packed filters of a group as a matrix (columns, depth), of which rows are looked up."""

    def __init__(self, panels: Array) -> None:
        self._panels = panels.reshape(-1, panels.shape[-1])

    def __getitem__(self, numbers: Array) -> Array:
        """Return the filters of these numbers, (…, depth)."""
        packed, depth = len(self._panels), self._panels.shape[-1]
        flat, width = self._panels.reshape(-1), column_unit()
        rows = np.empty((*numbers.shape, depth), self._panels.dtype)
        for row, number in zip(rows.reshape(-1, depth), numbers.reshape(-1).tolist(), strict=True):
            start = number // width * width
            step = min(width, packed - start)  # the last panel may have a single vector
            row[:] = flat[start * depth + number - start : (start + step) * depth : step]
        return rows


def step_of(windows: int) -> int:
    """Return the windows of a step, which are about as many in all steps."""
    size = blocks()
    assert size is not None
    steps = -(-windows // _MOST_STEP)
    return -(-windows // (steps * size.rows)) * size.rows


def product(
    x: Array,
    panels: Array,
    out: Array,
    taps: Array,
    *,
    first: int,
    counts: Sequence[int],
    geometry: Geometry,
    epilogue: Epilogue | None = None,
) -> Callable[[], object]:
    """Return the call that multiplies windows with filters.

    Args:
        x: images (images, sizes…, channels) of float32, whose channels lie together.
        panels: packed filters of all groups, or whole panels of a single one.
        out: (windows, filters), rows without gaps.
        taps: scratch of as many 64-bit integers as there are taps in the windows of a step.
        first: number of the first row of windows along the first axis.
        counts: number of windows along each axis.
        geometry: the windows.
        epilogue: operations on ``out``.
    """
    arguments = _Product(
        geometry.arguments(x, panels, out, first, counts),
        None if epilogue is None else ctypes.pointer(epilogue),
        taps.ctypes.data,
        step_of(len(out)),
        out.strides[0] // out.itemsize,
    )
    return bound("product", arguments, x, panels, out, taps, epilogue)


#: Type of the scratch of addresses.
ADDRESS = np.dtype(np.int64)
