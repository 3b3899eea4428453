"""Numbers of quanto."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.arrays import Array
from netcalc.codecs.planes import unpack_lines


def bytes_of_rows(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return value·scale, with a scale for each row, in the type of the scales.

    Source: optimum-quanto 0.2.7, tensor/qbytes.QBytesDequantizer.
    """
    scales = tensors[".weight._scale"]
    numbers: Array = tensors[".weight._data"].astype(scales.dtype) * scales
    return numbers


def groups(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int) -> Array:
    """Return scale·code − shift for groups of columns; shifts that are integers are zero points.

    Both steps are in the type of the scales, as in the library.

    Source: optimum-quanto 0.2.7, tensor/qbits.QBitsDequantizer, tensor/packed.pack_weights.
    """
    packed, scales, shifts = tensors[".weight._data._data"], tensors[".weight._scale"], tensors[".weight._shift"]
    codes = unpack_lines(packed, bits, len(scales)).astype(scales.dtype)
    zeros = shifts.astype(scales.dtype)
    numbers: Array = scales * (codes - zeros) if shifts.dtype.kind in "iu" else scales * codes - zeros
    return numbers.reshape(shape)
