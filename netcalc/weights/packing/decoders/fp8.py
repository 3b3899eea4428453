"""Numbers of floats in 8 bits, with scales for tensors, rows or tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.scales import scale_values, spread_tiles


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], block_size: Sequence[int] | None) -> Array:
    """Return number·scale of ``.weight`` (…, rows, columns), with the one scale that stands beside it.

    ``block_size`` are the rows and columns of a tile.  The last tiles may be smaller; scales of another number are
    those of tiles of equal size.

    Source: transformers 5.23.0, integrations/finegrained_fp8.py (FP8Linear, Fp8Dequantize).
    """
    return _scaled(tensors[".weight"], _scale(tensors, ".weight_scale_inv", ".weight_scale", ".scale"), block_size)


def experts(tensors: Mapping[str, Array], shape: tuple[int, ...], block_size: Sequence[int] | None) -> Array:
    """Return number·scale of a tensor (experts, rows, columns) and the scale beside it, as :func:`weight`.

    Source: transformers 5.23.0, integrations/finegrained_fp8.FP8Experts (``_scale_inv``); NVIDIA ModelOpt 0.47.0,
    torch/export/unified_export_hf.py (``_weight_scale``).
    """
    return _scaled(tensors[""], _scale(tensors, "_scale_inv", "_weight_scale"), block_size)


def rows(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return number·scale of ``.weight`` (rows, columns), with ``.weight_scale`` for each row.

    Source: transformers 5.23.0, integrations/fbgemm_fp8.FbgemmFp8Linear.
    """
    return _scaled(tensors[".weight"], tensors[".weight_scale"].reshape(-1, 1), None)


def transposed_experts(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return number·scale of a tensor (experts, columns, rows), with ``_scale`` for each row of an expert.

    The scales have a further axis of 1: gate_up_proj (experts, 1, rows), down_proj (experts, rows, 1).

    Source: transformers 5.23.0, integrations/fbgemm_fp8.FbgemmFp8Llama4TextExperts.
    """
    scales = tensors["_scale"]
    if scales.size != shape[0] * shape[-1]:
        raise ValueError(f"_scale has the shape {scales.shape}, and {shape[0]} experts have {shape[-1]} rows each")
    return _scaled(tensors[""], scales.reshape(shape[0], 1, shape[-1]), None)


def _scale(tensors: Mapping[str, Array], *suffixes: str) -> Array:
    """Return the one array of several that stands beside a packed one."""
    there = [suffix for suffix in suffixes if suffix in tensors]
    if len(there) != 1:
        raise ValueError(
            f"one of {', '.join(suffixes)} should be beside it, and there is {' and '.join(there) or 'none'}"
        )
    return tensors[there[0]]


def _scaled(codes: Array, stored: Array, block_size: Sequence[int] | None) -> Array:
    """Return numbers times a scale, or times those of tiles in the last two axes."""
    numbers, scales = codes.astype(np.float32), scale_values(stored)
    if scales.size == 1:
        return numbers * scales.reshape(())
    sizes = block_size or (None, None)
    extents = zip(numbers.shape[-2:], scales.shape[-2:], sizes, strict=True)
    height, width = (_tile(*extent) for extent in extents)
    return numbers * spread_tiles(scales, numbers.shape, (height, width))


def _tile(extent: int, count: int, size: int | None) -> int:
    """Return the size of ``count`` tiles along an axis: the one that is said, or that of equal ones."""
    if size is not None and -(-extent // size) == count:
        return size
    if not count or extent % count:
        raise ValueError(f"{count} scales do not divide {extent} rows or columns")
    return extent // count
