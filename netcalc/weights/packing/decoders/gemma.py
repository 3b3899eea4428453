"""Numbers of Gemma: integers with a scale for each row, packed along columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.planes import unpack_bytes
from netcalc.codecs.scales import times_groups


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int) -> Array:
    """Return code·scale of ``.weight`` (rows, bytes) and ``.weight_scale`` (rows, 1).

    Source: transformers 5.23.0, integrations/gemma_quant.QuantizedLinear.
    """
    return times_groups(_codes(tensors[".weight"], bits), tensors[".weight_scale"])


def embedding(tensors: Mapping[str, Array], shape: tuple[int, ...], bits: int) -> Array:
    """Return code·scale of ``.embedding_quantized`` (rows, bytes) and ``.embedding_scale`` (rows, groups).

    Source: transformers 5.23.0, integrations/gemma_quant.QuantizedEmbedding.
    """
    return times_groups(_codes(tensors[".embedding_quantized"], bits), tensors[".embedding_scale"])


def _codes(packed: Array, bits: int) -> Array:
    """Return signed integers; those of 2 and 4 bits are stored plus 2 and 8."""
    if bits == 8:
        return packed.view(np.int8).astype(np.float32)
    codes: Array = unpack_bytes(np.ascontiguousarray(packed), bits).astype(np.float32) - np.float32(1 << (bits - 1))
    return codes
