"""Numbers of Four Over Six: floats in 4 bits (e2m1) with a scale for a few columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.microscaling import e2m1_unpacked
from netcalc.codecs.scales import scale_values, times_groups

#: Columns of a group by the type of the elements.
_GROUPS = {"nvfp4": 16, "mxfp4": 32}
#: The greatest element times the greatest scale, by the rule of scales; others choose between 4 and 6.
_GREATEST = {"static_6": 6 * 448, "static_4": 4 * 448}
_CHOSEN = 6 * 256
#: Rows and columns of scales in a tile of the order that tensor cores read.
_TILE = (128, 4)
#: Place in quantized_weight_metadata: 1 if the scales are in this order.
_ORDER = 5


def weight(tensors: Mapping[str, Array], shape: tuple[int, ...], dtype: str, rule: str) -> Array:
    """Return the numbers of the arrays ``.quantized_weight_…``.

    In nvfp4 these are number·scale·amax, over the greatest element times the greatest scale that ``rule`` allows; in
    mxfp4 number·scale.

    Source: mit-han-lab/fouroversix at 00e7033, quantize/backend.QuantizeBackendBase.dequantize, dequantize_utils.py.
    """
    metadata = tensors[".quantized_weight_metadata"].tolist()
    if tuple(metadata[:2]) != shape or tuple(metadata[2:4]) != shape:
        raise ValueError(f"quantized_weight_metadata says {metadata[:4]}, and the values have the shape {shape}")
    stored, grid = tensors[".quantized_weight_scale_factors"], (shape[0], shape[1] // _GROUPS[dtype])
    if stored.size != grid[0] * grid[1]:
        raise ValueError(f"it has {stored.size:,} scales for {grid[0]}×{grid[1]} groups")
    scales = scale_values(_row_major(stored, grid) if metadata[_ORDER] == 1 else stored.reshape(grid))
    numbers = times_groups(e2m1_unpacked(tensors[".quantized_weight_values"]), scales)
    if dtype == "mxfp4":
        return numbers
    amax = tensors[".quantized_weight_amax"].astype(np.float32)
    return numbers * amax / np.float32(_GREATEST.get(rule, _CHOSEN))


def _row_major(scales: Array, grid: tuple[int, int]) -> Array:
    """Return scales by rows and columns: tiles of 128 × 4, in which the rows r, 32 + r, 64 + r and 96 + r alternate."""
    height, width = _TILE
    if grid[0] % height or grid[1] % width:
        raise ValueError(f"{grid[0]}×{grid[1]} scales are no tiles of {height}×{width}")
    tiles = scales.reshape(grid[0] // height, grid[1] // width, 32, 4, width)
    return tiles.transpose(0, 3, 2, 1, 4).reshape(grid)
