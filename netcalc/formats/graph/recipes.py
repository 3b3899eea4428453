"""Values of buffers in short: a number, a list, or lines that compute them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from netcalc.dims import product
from netcalc.formats.graph.distances import border_of, distance_lines
from netcalc.formats.graph.shifted_windows import shifted_window_lines
from netcalc.formats.graph.sinusoids import sinusoid_lines

#: Most numbers that a spec lists.
_LISTED = 256


class Content(NamedTuple):
    """A number for all elements or nested lists (``value``), or the lines that compute them."""

    value: Any = None
    computed: list[dict[str, Any]] | None = None


class _Digit(NamedTuple):
    """A factor of an axis, and the difference between neighbours along it."""

    size: int
    step: float


def content_of(array: Any, dtype: str) -> Content | None:
    """Return the content of an array of NumPy that is a tensor of type ``dtype``; None if it is not short.

    Whole numbers that are a sum over the digits of their indices, in any mixed radix, are computed: positions, and the
    relative positions of windows.
    """
    shape, elements = tuple(array.shape), array.size
    if not elements:
        return None
    if dtype.startswith("complex"):
        return _complex_content(array, dtype)
    first = array.flat[0]
    if (array == first).all() or (first != first and (array != array).all()):
        return Content(_number(first, dtype))
    if dtype != "bool" and abs(array).max() < 1 << 24 and (array % 1 == 0).all():
        digits = _digits(array.astype("int64"))
        if digits is not None and (elements > 8 or len(shape) == 1):
            return Content(computed=list(_sum_of(int(first), digits, shape, dtype)))
        if elements > _LISTED and (lines := _index_lines(array.astype("int64"), dtype)) is not None:
            return Content(computed=lines)
    if dtype.startswith(("float", "bfloat")) and _is_triangle(array == 0) and (array[array != 0] == -math.inf).all():
        rows, columns = shape[-2:]
        mask = {"causal_mask": {"queries": rows, "keys": columns, "dtype": dtype}}
        same = [] if len(shape) == 2 else [{"expand": list(shape)}]
        return Content(computed=[mask, *same])
    if _is_triangle(array):
        corner = _number(array[..., -1, 0].flat[0], dtype)
        return Content(computed=[{"constant": {"value": corner, "shape": list(shape), "dtype": dtype}}, {"tril": 0}])
    if elements <= _LISTED:
        return Content(_nested_list(array, dtype))
    lines = (shifted_window_lines(array, dtype) or sinusoid_lines(array, dtype)) if dtype.startswith("float") else None
    return None if lines is None else Content(computed=lines)


def _complex_content(array: Any, dtype: str) -> Content | None:
    """Return the content of complex numbers: one real number for all, or pairs of their parts."""
    part = {"complex64": "float32", "complex128": "float64"}[dtype]
    first = array.flat[0]
    if first.imag == 0 and (array == first).all():
        return Content(_number(first.real, part))
    if 2 * array.size > _LISTED:
        return None
    return Content(_nested_list(array.reshape(*array.shape, 1).view(part), part))


def _index_lines(array: Any, dtype: str) -> list[dict[str, Any]] | None:
    """Return the lines of a table of indices: of distances, or of a sum over digits with a border."""
    if (lines := distance_lines(array, dtype)) is not None:
        return lines
    border = border_of(array) if dtype == "int64" else None
    digits = None if border is None else _digits(array[1:, 1:])
    if border is None or digits is None:
        return None
    rows, columns = array.shape
    inner = _sum_of(int(array[1, 1]), digits, (rows - 1, columns - 1), dtype)
    return list(border.lines(list(inner), (rows, columns)))


def _number(number: Any, dtype: str) -> Any:
    """Return a number as a spec writes it: the shortest one that is the same in its type."""
    if dtype == "bool":
        return bool(number)
    return float(str(number)) if dtype.startswith(("float", "bfloat")) else int(number)


def _nested_list(array: Any, dtype: str) -> Any:
    if not array.ndim:
        return _number(array.item(), dtype)
    if array.ndim == 1:
        return [_number(number, dtype) for number in array]
    return [_nested_list(part, dtype) for part in array]


def _is_triangle(array: Any) -> bool:
    """Return True if the elements are equal up to the diagonal of the last two axes, and zeros above it."""
    if array.ndim < 2 or array.shape[-1] < 2:
        return False
    rows = array.reshape(-1, *array.shape[-2:]).swapaxes(0, 1)
    corner = rows[-1].flat[0]
    return all((row[:, : i + 1] == corner).all() and (row[:, i + 1 :] == 0).all() for i, row in enumerate(rows))


def _digits(array: Any) -> list[list[_Digit]] | None:
    """Return the digits of each axis if the numbers are a first number and a sum over the digits."""
    first, axes, total = array.flat[0], [], array.flat[0]
    for axis in range(array.ndim):
        along = array[tuple(slice(None) if other == axis else 0 for other in range(array.ndim))] - first
        digits = _radix(along.tolist())
        if digits is None:
            return None
        axes.append(digits)
        total = total + along.reshape([-1 if other == axis else 1 for other in range(array.ndim)])
    return axes if (total == array).all() else None


def _radix(numbers: Sequence[int]) -> list[_Digit] | None:
    """Return the digits, the outermost first, of numbers that start with 0 and are a sum over at most six digits."""
    digits: list[_Digit] = []
    while len(numbers) > 1 and len(digits) < 6:
        step, size = numbers[1], 2
        while size < len(numbers) and numbers[size] == size * step:
            size += 1
        while len(numbers) % size:
            size -= 1
        if size == 1 or any(number != numbers[i - i % size] + i % size * step for i, number in enumerate(numbers)):
            return None
        digits.insert(0, _Digit(size, step))
        numbers = numbers[::size]
    return digits if len(numbers) == 1 else None


def _sum_of(first: int, axes: list[list[_Digit]], shape: tuple[int, ...], dtype: str) -> Iterator[dict[str, Any]]:
    """Yield the lines that compute numbers by their digits."""
    digits = [digit for axis in axes for digit in axis]
    sizes = [digit.size for digit in digits]
    counted = [place for place, digit in enumerate(digits) if digit.step]
    for number, place in enumerate(counted):
        size, step = digits[place]
        start = 0 if number else first
        attributes = {"start": start, "stop": start + size * step, "step": step, "dtype": dtype}
        defaults = {"start": 0, "step": 1, "dtype": "int64"}
        name = {} if len(counted) == 1 else {"name": f"digit_{number}"}
        yield {**name, "arange": {key: value for key, value in attributes.items() if value != defaults.get(key)}}
        if number < len(counted) - 1:
            yield {"name": f"part_{number}", "reshape": [size, *[1] * (counted[-1] - place)]}
    if len(counted) > 1:
        parts = [f"part_{number}" for number in range(len(counted) - 1)]
        yield {"add": None, "from": [*parts, f"digit_{len(parts)}"]}
    ones = [digit.size if digit.step else 1 for digit in digits]
    merged = [product(d.size if d.step else 1 for d in axis) for axis in axes]
    if any(digit.step == 0 for digit in digits) and merged != list(shape):
        split = any(len(axis) > 1 for axis in axes)
        yield {"reshape": ones if split else merged}
        yield {"expand": sizes if split else list(shape)}
        if split:
            yield {"reshape": list(shape)}
    elif len(shape) > 1 or len(digits) > 1:
        yield {"reshape": list(shape)}
