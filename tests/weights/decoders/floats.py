"""Small floats by their bits, as their formats define them, and codes in bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcalc.arrays import Array, numpy_dtype

E4M3, E8M0 = numpy_dtype("float8_e4m3fn"), numpy_dtype("float8_e8m0fnu")
#: Numbers of e2m1 by their codes (OCP Microscaling Formats 1.0, table 5).
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


def e4m3(code: int) -> float:
    """Return the number of a byte: sign, 4 bits of exponent, 3 of mantissa (OCP 8-bit Floating Point 1.0, table 1)."""
    exponent, mantissa = (code >> 3) & 15, code & 7
    size = mantissa / 8 * 2**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    return -size if code & 128 else size


def e8m0(code: int) -> float:
    """Return the number of a byte: a power of two (OCP Microscaling Formats 1.0, section 5.4.1)."""
    return 2.0 ** (code - 127)


def drawn_e4m3(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return bytes of which each is a number in e4m3."""
    codes = generator.integers(0, 256, shape).astype(np.uint8)
    codes[codes & 127 == 127] = 8  # no number
    return codes


def drawn_scales(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return bytes of positive numbers in e4m3."""
    return generator.integers(1, 127, shape).astype(np.uint8)


def pairs(codes: Sequence[int]) -> list[int]:
    """Return codes of 4 bits in bytes, the first of two in the low bits."""
    return [codes[at] | codes[at + 1] << 4 for at in range(0, len(codes), 2)]
