"""Numbers of GPTQ: words along the inputs, with scales and zero points for groups of inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.planes import unpack_words
from netcalc.weights.packing.decoders.grouped import groups_in_order, groups_named, scaled


def weight(
    tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int, group_size: int | None, offset: int
) -> Array:
    """Return (code − zero point)·scale, of shape (rows, columns).

    Args:
        tensors: ``.qweight`` (words, rows), ``.qzeros`` (groups, words), ``.scales`` (groups, rows) and, if columns are
            in an order of their own, the group of each in ``.g_idx``.
        shape: (rows, columns).
        bits: bits of a code.
        group_size: columns of a group; None or −1 for all.
        offset: what the zero points are stored less of: 1, and 0 in the format gptq_v2.

    Source: AutoGPTQ 0.7.1, nn_modules/qlinear/qlinear_cuda_old.py.
    """
    rows, columns = shape
    codes = unpack_words(np.ascontiguousarray(tensors[".qweight"].T), bits, columns)
    zeros = (unpack_words(tensors[".qzeros"], bits, rows) + np.uint8(offset)) & np.uint8((1 << bits) - 1)
    scales, order = tensors[".scales"], tensors.get(".g_idx")
    count = len(scales)
    groups = groups_in_order(columns, group_size, count) if order is None else groups_named(order, count)
    return scaled(codes, zeros, scales, groups)
