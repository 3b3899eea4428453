"""Numbers of SINQ, which packs codes as HQQ does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.planes import unpack_lines


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int | None) -> Array:
    """Return (code − zero point)·scale·(scale of the column) for groups of columns.

    Scales and zero points are bytes, times a scale and plus a least number, for 32 parts of the groups or for all, in
    the type of these.  The library computes the rest in float32, unless the model is in float16 as the scales are.

    Source: sinq 0.2.0, bitpack.py and quantizer.Quantizer.dequantize.

    Raises:
        ValueError: the configuration does not say how many bits a code has.
    """
    if bits is None:
        raise ValueError("the configuration should say how many bits a code has")
    scales, zeros = (_restored(tensors, f".meta.{name}") for name in ("scale", "zero"))
    codes = unpack_lines(tensors[".W_q"], bits, len(scales), descending=True).astype(np.float32)
    groups: Array = (codes - zeros) * scales
    return groups.reshape(shape) * tensors[".meta.scale2"].astype(np.float32)


def _restored(tensors: Mapping[str, Array], name: str) -> Array:
    """Return numbers of groups that are stored in 8 bits."""
    scale = tensors[f"{name}.s"]
    numbers = tensors[f"{name}.x"].astype(scale.dtype) * scale + tensors[f"{name}.m"]
    return numbers.astype(np.float32).reshape(-1, 1)
