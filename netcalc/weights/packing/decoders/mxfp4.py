"""Numbers of floats in 4 bits (e2m1) with a power of two for 32 columns."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.arrays import Array
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.scales import scale_values, times_groups


def transposed_experts(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return the numbers (experts, columns, rows) of ``_blocks`` (experts, rows, groups, bytes) and ``_scales``.

    Source: transformers 5.23.0, integrations/mxfp4.convert_moe_packed_tensors; openai/gpt-oss, torch/weights.py.
    """
    blocks = tensors["_blocks"]
    numbers = e2m1_unpacked(blocks).reshape(*blocks.shape[:2], -1)
    return times_groups(numbers, scale_values(tensors["_scales"])).swapaxes(-1, -2)


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return the numbers of ``.weight`` (…, rows, bytes) and ``.scale`` or ``.weight_scale`` (…, rows, groups).

    Source: transformers 5.23.0, integrations/finegrained_fp8.Fp8Dequantize, for experts of DeepSeek-V4; NVIDIA
    ModelOpt 0.47.0, torch/quantization/qtensor/mxfp4_tensor.py.
    """
    scales = tensors[".scale"] if ".scale" in tensors else tensors[".weight_scale"]
    return times_groups(e2m1_unpacked(tensors[".weight"]), scale_values(scales))
