"""Tensor types: shape and element type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netcalc.dims import Dim, product
from netcalc.dtypes import COMPLEX, FLOATS, INEXACT, DType
from netcalc.limits import MAX_RANK, MAX_SIZE_BITS


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape and element type of a tensor."""

    shape: tuple[Dim, ...]
    dtype: DType = "float32"

    @property
    def rank(self) -> int:
        """Number of axes; 0 for a scalar."""
        return len(self.shape)

    @property
    def elements(self) -> Dim:
        """Number of elements; 1 for a scalar."""
        return product(self.shape)

    @property
    def is_float(self) -> bool:
        """True if the elements are floating-point numbers."""
        return self.dtype in FLOATS

    @property
    def is_complex(self) -> bool:
        """True if the elements are complex numbers."""
        return self.dtype in COMPLEX

    @property
    def is_inexact(self) -> bool:
        """True if the elements have fractions: floating-point or complex numbers."""
        return self.dtype in INEXACT

    @property
    def is_symbolic(self) -> bool:
        """True if a size is not a number."""
        return any(type(size) is not int for size in self.shape)

    @property
    def excess(self) -> str | None:
        """The limit that the shape exceeds, in words; None if there is none."""
        if len(self.shape) > MAX_RANK:
            return f"{len(self.shape):,} axes (at most {MAX_RANK})"
        bits = sum(size.bit_length() - 1 for size in self.shape if isinstance(size, int) and size)
        return f"over 2**{bits} elements (at most 2**{MAX_SIZE_BITS})" if bits > MAX_SIZE_BITS else None

    @property
    def looks_channels_last(self) -> bool:
        """True for a batch whose last axis has 1, 3 or 4 elements, as channels of an image have, and fewer than others.

        >>> TensorType((1, 224, 224, 3)).looks_channels_last, TensorType((1, 3, 224, 224)).looks_channels_last
        (True, False)
        """
        _, *axes, channels = self.shape if self.rank > 2 else (1, 1)
        return channels in (1, 3, 4) and all(not isinstance(size, int) or size > channels for size in axes)

    def with_shape(self, *shape: Dim) -> TensorType:
        """Return the type with another shape."""
        return TensorType(tuple(shape), self.dtype)

    def with_dtype(self, dtype: DType) -> TensorType:
        """Return the type with another element type."""
        return TensorType(self.shape, dtype)

    def members(self) -> Mapping[str, Any]:
        """Return the attributes of a tensor in expressions: ``in.channels``, ``x.shape[1]``.

        Sizes go by the layout of the framework: ``channels`` is axis 1 and ``height``, ``width`` the last two
        (N, C, …, H, W); ``features`` is the last axis and ``length`` axis 1 (N, L, C).
        """
        shape = list(self.shape)
        known: dict[str, Any] = {"shape": shape, "rank": len(shape), "dtype": self.dtype, "elements": self.elements}
        if shape:
            known |= {"batch": shape[0], "features": shape[-1]}
        if len(shape) > 1:
            known |= {"channels": shape[1], "length": shape[1]}
        if len(shape) > 2:
            known["width"] = shape[-1]
        if len(shape) > 3:
            known["height"] = shape[-2]
        if len(shape) > 4:
            known["depth"] = shape[-3]
        return known

    def member(self, name: str) -> Any:
        """Return one attribute in expressions; KeyError if there is none."""
        shape = self.shape
        if name == "channels" and len(shape) > 1:
            return shape[1]
        if name == "features" and shape:
            return shape[-1]
        return self.members()[name]

    def __str__(self) -> str:
        return "×".join(map(str, self.shape)) if self.shape else "scalar"
