"""Numbers of HQQ, whose layers are saved with their state."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from netcalc.arrays import Array, numpy_dtype
from netcalc.codecs.planes import unpack_lines

_TYPES = ("float32", "float16", "bfloat16")
#: Bits of a code and of the words that hold them, by the name of the way in which they are packed.
_PACKINGS = {"8bit_u8": (8, 8), "4bit_u8": (4, 8), "3bit_32": (3, 32), "2bit_u8": (2, 8), "1bit_u8": (1, 8)}


def stored_shape(companions: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the shape that a layer keeps beside its codes."""
    return tuple(int(size) for size in companions[".shape"])


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return (code − zero point)·scale, with each step in the type in which the library computes.

    The state of the layer stands beside the codes: the axis of the groups, the type, and how codes are packed, as text
    in bytes.  Codes may have been saved as numbers of that type with the same bits.

    Source: hqq 0.2.8, core/bitpack.py and core/quantize.Quantizer.dequantize.

    Raises:
        ValueError: the state is none of the library.
    """
    packing, computed = _text(tensors[".packing"]), _text(tensors[".compute_dtype"]).removeprefix("torch.")
    if packing not in _PACKINGS:
        raise ValueError(f"packing is {packing!r}, not one of {', '.join(_PACKINGS)}")
    if computed not in _TYPES:
        raise ValueError(f"compute_dtype is {computed!r}, not one of {', '.join(_TYPES)}")
    dtype = numpy_dtype(computed)
    scales, zeros = (tensors[suffix].astype(dtype) for suffix in (".scale", ".zero"))
    bits, word = _PACKINGS[packing]
    lines = prod(shape) // max(scales.size, 1) if int(tensors[".axis"]) == 0 else scales.size
    codes = unpack_lines(tensors[".W_q"].view(f"u{word // 8}"), bits, lines, descending=True)
    numbers: Array = (codes.astype(dtype) - zeros) * scales
    return numbers.reshape(shape)


def _text(characters: Array) -> str:
    return characters.tobytes().decode(errors="replace")
