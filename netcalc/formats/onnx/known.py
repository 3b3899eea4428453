"""Small tensors whose elements are known, such as shapes and indices: their elements are numbers or symbolic sizes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product as places
from math import prod
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly
from netcalc.dtypes import FLOATS, DType

#: Most elements of a tensor that is computed.
MOST = 1 << 12


class Known(NamedTuple):
    """A tensor with known elements, in row-major order."""

    dtype: DType
    shape: tuple[int, ...]
    elements: tuple[Any, ...]

    @property
    def is_plain(self) -> bool:
        """True if all elements are numbers."""
        return not any(isinstance(element, Poly) for element in self.elements)

    def nested(self) -> Any:
        """Return the elements in nested lists, the only one of a scalar as it is."""
        return _nested([number(element, self.dtype) for element in self.elements], self.shape)


def known(dtype: DType, shape: Iterable[int], elements: Iterable[Any]) -> Known:
    """Return a tensor; RuleError for one that is too large, and for elements without an order."""
    made = Known(dtype, tuple(shape), tuple(elements))
    if prod(made.shape) != len(made.elements):
        raise RuleError("elements and shape do not fit")
    return made


def number(element: Any, dtype: DType) -> Any:
    """Return an element as a spec writes it: the shortest number that is the same in its type."""
    if isinstance(element, Poly) or dtype not in FLOATS:
        return bool(element) if dtype == "bool" else element
    element = float(element)
    code = {"float32": "f", "float16": "e"}.get(dtype)
    if code is None or element != element or element in (float("inf"), float("-inf")):
        return element
    for digits in range(1, 10):
        short = float(f"{element:.{digits}g}")
        try:
            if struct.pack(code, short) == struct.pack(code, element):
                return short
        except OverflowError:
            continue
    return element


def _nested(elements: Sequence[Any], shape: Sequence[int]) -> Any:
    if not shape:
        return elements[0]
    size = prod(shape[1:])
    return [_nested(elements[at * size : (at + 1) * size], shape[1:]) for at in range(shape[0])]


def strides(shape: Sequence[int]) -> list[int]:
    """Return the distances of neighbors along each axis in row-major order."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def picked(x: Known, shape: Sequence[int], place: Callable[[tuple[int, ...]], Sequence[int]]) -> Known:
    """Return a tensor whose element at each index is the one of ``x`` at another index."""
    if prod(shape) > MOST:
        raise RuleError("too many elements to be computed")
    steps = strides(x.shape)
    at = [sum(i * step for i, step in zip(place(index), steps, strict=True)) for index in indices(shape)]
    return known(x.dtype, shape, [x.elements[i] for i in at])


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of a tensor in row-major order."""
    return places(*map(range, shape))


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the common shape of tensors; RuleError if there is none."""
    rank = max(map(len, shapes))
    result = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if -axis <= len(shape)} - {1}
        if len(sizes) > 1:
            raise RuleError("shapes that do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def spread(x: Known, shape: Sequence[int]) -> Known:
    """Return a tensor broadcast to a shape."""
    if x.shape == tuple(shape):
        return x
    front = len(shape) - len(x.shape)
    if front < 0 or any(own not in (1, size) for own, size in zip(x.shape, shape[front:], strict=True)):
        raise RuleError("shapes that do not broadcast")
    return picked(x, shape, lambda index: [0 if own == 1 else i for own, i in zip(x.shape, index[front:], strict=True)])


def elementwise(dtype: DType, function: Callable[..., Any], *operands: Known) -> Known:
    """Return a function of the elements of tensors, which broadcast."""
    shape = broadcast(*(operand.shape for operand in operands))
    if prod(shape) > MOST:
        raise RuleError("too many elements to be computed")
    rows = [spread(operand, shape).elements for operand in operands]
    return known(dtype, shape, [function(*elements) for elements in zip(*rows, strict=True)])
