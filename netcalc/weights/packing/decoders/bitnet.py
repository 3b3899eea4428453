"""Numbers of BitNet: −1, 0 and 1 with a scale for the tensor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.planes import Planes


def packed(tensors: Mapping[str, Array], shape: tuple[int, ...], divided: bool) -> Array:
    """Return the numbers of ``.weight`` (rows/4, columns), whose bytes hold rows that are a quarter of all apart.

    ``divided`` says that outputs are divided by ``.weight_scale``, else they are multiplied by it.

    Source: transformers 5.23.0, integrations/bitnet.py (unpack_weights, BitLinear, AutoBitLinear).
    """
    lines = tensors[".weight"]
    codes = Planes(1, 4, lines.size, 2).unpack(lines.reshape(1, -1)).reshape(-1, lines.shape[-1])
    if (codes > 2).any():
        raise ValueError("it has codes of 3, and −1, 0 and 1 are 0, 1 and 2")
    return _scaled(codes.astype(np.float32) - np.float32(1), tensors, divided=divided)


def plain(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return number·scale of ``.weight`` (rows, columns), whose outputs are multiplied by ``.weight_scale``.

    Source: transformers 5.23.0, integrations/bitnet.py (AutoBitLinear, BitNetDeserialize).
    """
    return _scaled(tensors[".weight"].astype(np.float32), tensors, divided=False)


def _scaled(numbers: Array, tensors: Mapping[str, Array], *, divided: bool) -> Array:
    if ".rms_norm.weight" in tensors:
        raise ValueError("its layer normalizes its inputs (rms_norm), which is no part of the model that is run")
    scale = tensors[".weight_scale"].astype(np.float32)
    return numbers / scale if divided else numbers * scale
