"""Numbers of mlx, and of the Metal kernels of transformers, which are packed like it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.mlx import affine_values
from netcalc.codecs.scales import scale_values, times_groups


def mlx(tensors: Mapping[str, Array], shape: tuple[int, ...], mode: str, bits: int) -> Array:
    """Return the numbers of ``.weight`` (…, words) and ``.scales`` (…, groups), in the mode affine with ``.biases``.

    The other modes are floats: mxfp4 and mxfp8 with powers of two, nvfp4 with scales in e4m3, both stored as bytes.

    Source: mlx 0.32.4, mlx.core.dequantize.
    """
    words, scales = np.ascontiguousarray(tensors[".weight"]), tensors[".scales"]
    if mode == "affine":
        if ".biases" not in tensors:
            raise ValueError("it has no .biases, which the mode affine needs")
        return affine_values(words, scales, tensors[".biases"], bits, shape[-1])
    e4m3 = numpy_dtype("float8_e4m3fn")
    if mode not in ("mxfp4", "mxfp8", "nvfp4"):
        raise ValueError(f"the mode {mode} is not known")
    numbers = words.view(e4m3) if mode == "mxfp8" else e2m1_unpacked(words.view(np.uint8))
    return times_groups(
        numbers.astype(np.float32), scales.view(e4m3) if mode == "nvfp4" else scale_values(scales.view(np.uint8))
    )


def metal(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int) -> Array:
    """Return code·scale + bias of ``.weight`` (…, words), ``.scales`` and ``.qbiases`` (…, groups).

    Source: transformers 5.23.0, integrations/metal_quantization._affine_dequantize_tensor.
    """
    return affine_values(tensors[".weight"], tensors[".scales"], tensors[".qbiases"], bits, shape[-1])
