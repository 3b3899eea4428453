"""Numbers of floats in 4 bits (e2m1) with a scale in e4m3 for 16 columns and one for the tensor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.scales import times_groups


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return number·(scale·scale of the tensor) of ``.weight`` (…, bytes), in which each of several may have its own.

    Inputs are multiplied by ``.pre_quant_scale``, a factor for each column, which is part of the numbers here.

    Source: NVIDIA ModelOpt 0.47.0, torch/quantization/qtensor/nvfp4_tensor.py and nn/modules/tensor_quantizer.py.
    """
    scales = _of_both(tensors[".weight_scale"], tensors[".weight_scale_2"])
    numbers = times_groups(e2m1_unpacked(tensors[".weight"]), scales)
    factors = tensors.get(".pre_quant_scale")
    if factors is None:
        return numbers
    if factors.size != shape[-1]:
        raise ValueError(f".pre_quant_scale has {factors.size} elements for {shape[-1]} columns")
    return numbers * factors.astype(np.float32).reshape(-1)


def transposed_experts(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return the numbers (experts, columns, rows) of a tensor (experts, bytes, rows) with ``_weight_scale``.

    Source: NVIDIA ModelOpt 0.47.0, torch/export/unified_export_hf.py, for experts of Llama 4 and gpt-oss.
    """
    scales = _of_both(tensors["_weight_scale"].swapaxes(-1, -2), tensors["_weight_scale_2"])
    packed = np.ascontiguousarray(tensors[""].swapaxes(-1, -2))
    return times_groups(e2m1_unpacked(packed), scales).swapaxes(-1, -2)


def _of_both(scales: Array, outer: Array) -> Array:
    """Return the scales of groups times that of the tensor, or of each matrix."""
    factors = outer.astype(np.float32).reshape(-1)
    if factors.size == 1:
        return scales.astype(np.float32) * factors
    if scales.ndim < 3 or factors.size != scales.shape[0]:
        raise ValueError(f"weight_scale_2 has {factors.size} elements for scales of shape {scales.shape}")
    return scales.astype(np.float32) * factors.reshape(-1, *(1,) * (scales.ndim - 1))
