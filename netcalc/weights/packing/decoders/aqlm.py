"""Numbers of AQLM."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return blocks of height × width elements: a sum of codewords, one of each codebook, times the scale of the line.

    Codes are stored less 2^bits where this makes them fit their signed type.  The sum and the product are rounded to
    the type of the codebooks, as in the library.

    Source: aqlm 1.1.7, utils.unpack_int_data and utils._dequantize_weight.
    """
    codes, codebooks = tensors[".codes"].astype(np.int64), tensors[".codebooks"]
    count, codewords, height, width = codebooks.shape
    codes %= 1 << (codewords.bit_length() - 1)
    blocks = np.zeros((*codes.shape[:2], height, width), np.float32)
    for number in range(count):
        blocks += codebooks[number].astype(np.float32)[codes[:, :, number]]
    scaled: Array = blocks.astype(codebooks.dtype) * tensors[".scales"].astype(codebooks.dtype)
    return scaled.swapaxes(1, 2).reshape(shape)
