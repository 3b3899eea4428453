"""Tensors of a file as the tensors that layers hold: whole, rows of one, or what quantized numbers mean."""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import prod
from typing import NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DType
from netcalc.formats.onnx.elements import CODES, dtype_named
from netcalc.formats.onnx.known import Known, indices, strides
from netcalc.formats.onnx.messages import TensorProto


class Rows(NamedTuple):
    """Rows of a stored tensor that are a tensor of a layer, by their first ones, at an index of the first axis."""

    place: int
    starts: tuple[int, ...]
    length: int


class Scaling(NamedTuple):
    """Meaning of quantized numbers: (number − zero)·scale, in a floating-point type.

    The scale is the product of ``scales``.  A vector of scales or zero points lies along ``axis``; with a ``block``
    there is one for as many neighbors along it.  ``shared`` is True for scales that belong to other tensors.
    """

    scales: tuple[TensorProto, ...]
    zero: TensorProto | None
    axis: int
    block: int
    dtype: DType
    shared: bool = False

    @property
    def tensors(self) -> tuple[TensorProto, ...]:
        """The scales, and the zero points if there are any."""
        return self.scales if self.zero is None else (*self.scales, self.zero)


class Held(NamedTuple):
    """A tensor of the file, or rows of it that are a tensor of a layer; with a ``scaling`` what its numbers mean."""

    tensor: TensorProto
    rows: Rows | None = None
    scaling: Scaling | None = None

    @property
    def dtype(self) -> DType:
        """Element type of what a layer holds; RuleError if netcalc lacks it."""
        return dtype_named(self.tensor.kind) if self.scaling is None else self.scaling.dtype

    @property
    def name(self) -> str:
        """Name of the tensor that a layer holds: a file that onnxruntime quantized has it with a suffix."""
        return self.tensor.name if self.scaling is None else self.tensor.name.removesuffix("_quantized")


def require_fitting(tensor: TensorProto, scaling: Scaling) -> None:
    """Check the shapes of scales and zero points; RuleError for one that does not fit the numbers."""
    shape = tensor.shape
    for other in scaling.tensors:
        if is_single(other, scaling):
            continue
        expected = shape[scaling.axis : scaling.axis + 1]
        if scaling.block:
            blocks = -(-shape[scaling.axis] // scaling.block)
            expected = (*shape[: scaling.axis], blocks, *shape[scaling.axis + 1 :])
        if other.shape != expected:
            sizes = ["×".join(map(str, each)) or "a number" for each in (other.shape, shape)]
            raise RuleError(f"{other.name[:80]!r} is {sizes[0]}, which does not scale {sizes[1]}")


def is_single(tensor: TensorProto, scaling: Scaling) -> bool:
    """Return True for the scale or zero point of a whole tensor."""
    return prod(tensor.shape) == 1 and len(tensor.shape) < 2 and not scaling.block


def meant(held: Held, read: Callable[[TensorProto], Known]) -> Known:
    """Return the elements of a small tensor of a layer, computed in 32 bits; ``read`` reads tensors of the file."""
    numbers, scaling = read(held.tensor), held.scaling
    if scaling is None:
        return numbers
    scales = [read(scale) for scale in scaling.scales]
    zero = None if scaling.zero is None else read(scaling.zero)
    elements = []
    for index, number in zip(indices(numbers.shape), numbers.elements, strict=True):
        value = _single(float(number - (0 if zero is None else _at(zero, index, scaling))))
        factor = 1.0
        for scale in scales:
            factor = _single(factor * _at(scale, index, scaling))
        elements.append(_rounded(value * factor, scaling.dtype))
    return Known(scaling.dtype, numbers.shape, tuple(elements))


def _at(vector: Known, index: tuple[int, ...], scaling: Scaling) -> float:
    """Return the scale or zero point of the number at an index."""
    if len(vector.elements) == 1:
        return vector.elements[0]  # type: ignore[no-any-return]
    if not scaling.block:
        return vector.elements[index[scaling.axis]]  # type: ignore[no-any-return]
    place = [part // scaling.block if axis == scaling.axis else part for axis, part in enumerate(index)]
    return vector.elements[sum(p * s for p, s in zip(place, strides(vector.shape), strict=True))]  # type: ignore[no-any-return]


def _single(value: float) -> float:
    """Return a number rounded to 32 bits."""
    return _rounded(value, "float32")


def _rounded(value: float, dtype: DType) -> float:
    code = CODES.get(dtype, "f")
    try:
        return float(struct.unpack(code, struct.pack(code, value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
