"""Numbers of AWQ: words along the outputs, in the order of the kernel, with scales and zero points for groups."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.arrays import Array
from netcalc.codecs.columns import awq_codes
from netcalc.weights.packing.decoders.grouped import groups_in_order, scaled


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int, group_size: int | None) -> Array:
    """Return (code − zero point)·scale, of shape (rows, columns).

    Args:
        tensors: ``.qweight`` (columns, words), ``.qzeros`` (groups, words) and ``.scales`` (groups, rows).
        shape: (rows, columns).
        bits: bits of a code; words have no gaps, so that some codes of 5 to 7 bits are in two.
        group_size: columns of a group; None or −1 for all.

    Source: AutoAWQ 0.2.9, utils/packing_utils.py (dequantize_gemm); auto-round 0.16.1, utils/bit_packing.py
    (unpack_awq_bitstream).
    """
    rows, columns = shape
    codes, zeros = (awq_codes(tensors[suffix], rows, bits) for suffix in (".qweight", ".qzeros"))
    scales = tensors[".scales"]
    return scaled(codes.T, zeros, scales, groups_in_order(columns, group_size, len(scales)))
