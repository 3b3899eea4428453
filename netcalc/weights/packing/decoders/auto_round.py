"""Numbers of AutoRound: integers in words as of GPTQ or AWQ, and floats of 4 and 8 bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.planes import unpack_bytes, unpack_words
from netcalc.codecs.scales import scale_values, times_groups
from netcalc.weights.packing.decoders import awq
from netcalc.weights.packing.decoders.grouped import groups_in_order, groups_named, scaled

#: Numbers of mx_int4 by the lower three bits of their codes; the fourth is the sign.
_QUARTERS = np.arange(8, dtype=np.float32) / np.float32(4)


def weight(
    tensors: Mapping[str, Array],
    shape: tuple[int, ...],
    bits: int,
    group_size: int | None,
    offset: int | None,
) -> Array:
    """Return (code − zero point)·scale, of shape (rows, columns).

    Args:
        tensors: ``.qweight`` (words, rows), ``.qzeros`` (groups, words), ``.scales`` (groups, rows) and, in the format
            of GPTQModel, the group of each column in ``.g_idx``; or those of AWQ.
        shape: (rows, columns).
        bits: bits of a code; words have no gaps.
        group_size: columns of a group; None or −1 for all.
        offset: what the zero points are stored less of; None for the layout of AWQ.

    Source: auto-round 0.16.1, auto_round_extension/torch/qlinear_torch.py, and qlinear_torch_zp.py for an offset of 1,
    in which zero points up to 2^bits occur.
    """
    if offset is None:
        return awq.weight(tensors, shape, bits, group_size)
    rows, columns = shape
    scales, order = tensors[".scales"], tensors.get(".g_idx")
    count = len(scales)
    groups = groups_in_order(columns, group_size, count) if order is None else groups_named(order, count)
    codes = unpack_words(np.ascontiguousarray(tensors[".qweight"].T), bits, columns)
    zeros = unpack_words(tensors[".qzeros"], bits, rows).astype(np.int16) + np.int16(offset)
    return scaled(codes, zeros, scales, groups)


def float4_weight(
    tensors: Mapping[str, Array], shape: tuple[int, ...], *, of_quarters: bool, has_ue5m3_scales: bool
) -> Array:
    """Return number·scale of codes of 4 bits, two in a byte, the first in the low bits.

    Args:
        tensors: ``.weight_packed`` (rows, bytes), ``.weight_scale`` (rows, groups), numbers or bytes with exponents,
            and ``.weight_global_scale``, by whose inverse the numbers are multiplied.
        shape: (rows, columns).
        of_quarters: True for multiples of 1/4 with a sign (mx_int4), False for floats (e2m1).
        has_ue5m3_scales: True if bytes of scales are floats of 5 and 3 bits without a sign.

    Source: auto-round 0.16.1, experimental/qmodules/nvfp4.py, nvfp4_e5m3.py and mx.py, and data_type/nvfp.py.
    """
    packed, scales = tensors[".weight_packed"], tensors[".weight_scale"]
    numbers = _quarters(unpack_bytes(packed, 4)) if of_quarters else e2m1_unpacked(packed)
    outer = tensors.get(".weight_global_scale")
    if outer is not None:
        if outer.size != 1 or not outer.all():
            raise ValueError(f"its weight_global_scale is {outer.tolist()}")
        numbers = numbers * (np.float32(1) / outer.astype(np.float32).reshape(()))
    return times_groups(numbers, _ue5m3(scales) if has_ue5m3_scales else scale_values(scales))


def float8_weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return number·scale of ``.weight`` (rows, columns).

    ``.weight_scale`` has bytes with exponents for groups of 32 columns (mx_fp8), or numbers for the tensor or each row.

    Source: auto-round 0.16.1, experimental/qmodules/mx.py and fp8_static.py.
    """
    if ".weight_zp" in tensors:
        raise ValueError("it has a weight_zp, and zero points of floats are not known")
    numbers, scales = tensors[".weight"].astype(np.float32), tensors[".weight_scale"]
    if scales.dtype == np.uint8:
        return times_groups(numbers, scale_values(scales))
    if scales.size not in (1, shape[0]):
        raise ValueError(f"{shape[0]} rows have {scales.size} scales")
    return numbers * scales.astype(np.float32).reshape(-1, 1)


def _quarters(codes: Array) -> Array:
    sizes = _QUARTERS[codes & 7]
    numbers: Array = np.where(codes & 8, -sizes, sizes)
    return numbers


def _ue5m3(codes: Array) -> Array:
    """Return the numbers of floats of 5 bits of exponent and 3 of mantissa, without a sign; 255 is no number."""
    if codes.dtype != np.uint8:
        raise ValueError(f"its weight_scale is {codes.dtype.name}, and should be uint8")
    exponents, mantissas = (codes >> 3).astype(np.int32), (codes & 7).astype(np.float32) / np.float32(8)
    numbers = np.ldexp(mantissas + (exponents > 0), np.maximum(exponents, 1) - 15)
    return np.where(codes == 255, np.float32(np.nan), numbers).astype(np.float32)
