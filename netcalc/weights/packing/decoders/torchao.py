"""Numbers of torchao's tensors, as its safetensors files have them.

Source: torchao 0.18.0, quantization/quantize_/workflows and prototype/mx_formats (the methods ``dequantize``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.codecs.blocked import unblocked
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.planes import unpack_bytes

_CODES, _SCALE, _ZERO = "._weight_qdata", "._weight_scale", "._weight_zero_point"
#: Scale of a channel of the inputs, which the library multiplies by the inputs.
_INPUTS = "._weight_act_pre_scale"
#: Columns of a step of tiles of 4 bits: words of 16 columns in pairs, four pairs.
_STEP = 128


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], pairs: bool) -> Array:
    """Return the numbers of integers and floats of 8 bits, or with ``pairs`` of integers of 4 bits.

    The first are Int8Tensor, IntxUnpackedToInt8Tensor, Float8Tensor and MXTensor, with scales of tiles of equal shape,
    or in blocks; the second are Int4Tensor, whose zero points are numbers and whose scales are (groups, rows).
    """
    codes, scales = tensors[_CODES], tensors[_SCALE]
    if pairs:
        return _for_inputs(_pairs(tensors, shape), tensors)
    values = codes.astype(np.float32)
    if scales.dtype == numpy_dtype("float8_e8m0fnu"):
        return values * _spread(unblocked(scales, shape[0], shape[1] // 32), shape)
    if _ZERO in tensors:
        values -= _spread(tensors[_ZERO], shape)
    return _for_inputs(values * _spread(scales, shape), tensors)


def float4(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return the numbers of floats of 4 bits with scales of 32 columns (MXTensor) or of 16 (NVFP4Tensor)."""
    scales = tensors[_SCALE]
    group = 32 if scales.dtype == numpy_dtype("float8_e8m0fnu") else 16
    spread = _spread(unblocked(scales, shape[0], shape[1] // group), shape)
    if "._weight_per_tensor_scale" in tensors:
        spread *= tensors["._weight_per_tensor_scale"].astype(np.float32)
    numbers: Array = e2m1_unpacked(tensors[_CODES]) * spread
    return numbers


def tiles(tensors: Mapping[str, Array], shape: tuple[int, ...], rows: int) -> Array:
    """Return the numbers of Int4TilePackedTo4dTensor: (code − 8)·scale + zero point.

    Lanes of a tile, 32 for 8 rows or 64 for 16, have words of 8 columns: 4 of each of two neighbouring tiles.

    Source: PyTorch 2.13, aten/src/ATen/native/cuda/int4mm.cu (matrix_to_m16n8k16_Bint4_layout) and
    torchao 0.18.0, quantization/utils.pack_tinygemm_scales_and_zeros.
    """
    packed, pairs = tensors[_CODES], tensors["._weight_scale_and_zero"].astype(np.float32)
    tall, steps = packed.shape[0] * 8 // rows, packed.shape[1]
    codes = unpack_bytes(np.ascontiguousarray(packed).view(np.uint8).reshape(tall, steps, -1, 4, 4), 4)
    if rows == 8:  # lanes are rows of 4, each with columns c, c + 1, c + 8, c + 9 for c = 2·lane
        lanes = codes[..., [0, 4, 1, 5, 2, 6, 3, 7]].reshape(tall, steps, 8, 4, 4, 2, 2, 2)
        order = lanes.transpose(0, 2, 1, 4, 5, 6, 3, 7)
    else:  # lanes are four of 16 rows, each with columns c to c + 3 for c = 4·lane
        lanes = codes[..., [0, 4, 1, 5, 2, 6, 3, 7]].reshape(tall, steps, 4, 16, 4, 2, 4)
        order = lanes.transpose(0, 3, 1, 4, 5, 2, 6)
    whole = order.reshape(tall * rows, steps * _STEP).astype(np.float32) - 8
    spread = pairs.transpose(2, 1, 0).repeat(whole.shape[1] // len(pairs), axis=2)
    values = (whole * spread[0] + spread[1])[: shape[0], : shape[1]]
    return _for_inputs(values, tensors)


def _pairs(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return code·scale + zero point, of codes from −8 to 7, the first of two in the low bits.

    Source: FBGEMM 1.2, experimental/gen_ai/quantize.py (int4_row_quantize_zp, pack_int4).
    """
    codes = unpack_bytes(tensors[_CODES], 4)
    values = ((codes ^ 8).astype(np.float32) - 8) * _spread(tensors[_SCALE].T, shape)
    numbers: Array = values + _spread(tensors[_ZERO].T, shape)
    return numbers


def _spread(scales: Array, shape: tuple[int, ...]) -> Array:
    """Return the scale of each element, of tiles of equal shape."""
    numbers = scales.astype(np.float32)
    for axis, size in enumerate(shape):
        numbers = numbers.repeat(size // max(numbers.shape[axis], 1), axis=axis)
    return numbers


def _for_inputs(values: Array, tensors: Mapping[str, Array]) -> Array:
    """Return numbers that multiply inputs as they are, where the library scales these first."""
    if _INPUTS in tensors:
        values = values * tensors[_INPUTS].astype(np.float32).reshape(-1)
    return values
