"""Floats of 4 and 8 bits with a scale for a few columns: mxfp4, mxfp8 and nvfp4."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import Shape, Tensors, groups_of, magnitude
from netcalc.codecs.floats import float8_cast
from netcalc.codecs.planes import Planes, unpack_bytes

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_GREATEST = np.float32(6)
_E4M3 = "float8_e4m3"
#: The exponent of the greatest power of two below the greatest number of an element type (emax of OCP MX 1.0).
_EXPONENTS = {4: 2, 8: 8}
_BIAS = 127
_PAIRS = Planes(1, 2, 1, 4)


def e2m1_cast(values: Array) -> Array:
    """Return 4-bit floats as codes, rounded to nearest even; those beyond 6 become 6."""
    size = np.abs(values)
    low = np.searchsorted(_E2M1, size, side="right").clip(max=8) - 1
    high = (low + 1).clip(max=7)
    below, above = size - _E2M1[low], _E2M1[high] - size
    up = (above < below) | ((above == below) & (low % 2 == 1))
    code = np.where(up & (high > low), high, low)
    codes: Array = (code + 8 * np.signbit(values)).astype(np.uint8)
    return codes


def e2m1_values(codes: Array) -> Array:
    """Return the numbers of 4-bit floats."""
    numbers: Array = np.where(codes & 8, -_E2M1[codes & 7], _E2M1[codes & 7])
    return numbers


def _packed(codes: Array) -> Array:
    """Return codes of 4 bits in bytes; the first of two has the low bits."""
    return _PAIRS.pack(codes.reshape(-1, 2)).reshape(*codes.shape[:-1], -1)


def e2m1_unpacked(packed: Array) -> Array:
    """Return the numbers of 4-bit floats in bytes; the first of two has the low bits."""
    return e2m1_values(unpack_bytes(packed, 4))


class Mxfp:
    """Floats of 4 bits (e2m1) or 8 bits (e4m3) with a power of two for 32 columns (OCP MX 1.0, section 6.3)."""

    rows = 1

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def encode(self, values: Array) -> Tensors:
        """Return codes and the biased exponents of the scales."""
        parts = groups_of(values, 32)
        greatest = magnitude(parts)
        exponents = np.frexp(np.where(greatest == 0, np.float32(1), greatest))[1] - 1 - _EXPONENTS[self._bits]
        exponents = np.where(greatest == 0, -_BIAS, exponents).clip(-_BIAS, _BIAS)
        scaled = np.ldexp(parts, -exponents).reshape(values.shape)
        codes = _packed(e2m1_cast(scaled)) if self._bits == 4 else float8_cast(scaled, _E4M3)
        return {"values": codes, "scales": (exponents[..., 0] + _BIAS).astype(np.uint8)}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        codes = tensors["values"]
        numbers = e2m1_unpacked(codes) if self._bits == 4 else codes.astype(np.float32)
        exponents = tensors["scales"].astype(np.int32)[..., None] - _BIAS
        values: Array = np.ldexp(groups_of(numbers.reshape(shape), 32), exponents).astype(np.float32)
        return values.reshape(shape)


class Nvfp4:
    """Floats of 4 bits with a scale in e4m3 for 16 columns, and one in float32 that makes the greatest of these 448.

    Without ``outer`` there is no scale in float32.
    """

    def __init__(self, *, outer: bool = True) -> None:
        self._outer = outer
        self.rows = int(not outer)

    def encode(self, values: Array) -> Tensors:
        """Return codes and both kinds of scales."""
        parts = groups_of(values, 16)
        greatest = magnitude(parts)
        outer = np.float32(greatest.max(initial=0)) / np.float32(6 * 448)
        outer = outer if outer > 0 and self._outer else np.float32(1)
        scales = float8_cast(greatest / _GREATEST / outer, _E4M3)
        scale = scales.astype(np.float32) * outer
        scaled = np.divide(parts, scale, out=np.zeros_like(parts), where=scale != 0)
        codes = _packed(e2m1_cast(scaled.reshape(values.shape)))
        tensors = {"values": codes, "scales": scales[..., 0]}
        return {**tensors, "scale of the tensor": np.full(1, outer, np.float32)} if self._outer else tensors

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        numbers = groups_of(e2m1_unpacked(tensors["values"]).reshape(shape), 16)
        scale = tensors["scales"].astype(np.float32)
        if self._outer:
            scale = scale * tensors["scale of the tensor"]
        values: Array = (numbers * scale[..., None]).reshape(shape)
        return values
