"""Numbers of bitsandbytes: codes of 4 bits into a table, and integers of 8 bits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.tables import table_codes, times_scales

_STATE = ".weight.quant_state.bitsandbytes__"
#: Orders of the bytes of 8-bit weights by their number in ``weight_format``; the others are those of kernels.
_ORDERS = ("row", "col32", "col_turing", "col_ampere")
_INVERSE = np.float32(7.874015718698502e-3)


def stored_shape(tensors: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the shape in the quant_state, which is JSON as bytes.

    Source: bitsandbytes 0.50.2, functional.QuantState.as_dict.
    """
    sizes = _state(tensors).get("shape")
    if not isinstance(sizes, list) or not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ValueError(f"the quant_state has the shape {sizes}")
    return tuple(sizes)


def table_weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return table[code]·scale, with a scale for each block of the flattened tensor.

    Args:
        tensors: ``.weight`` with two codes in a byte, the first in the high bits, ``.weight.quant_map``, the table,
            ``.weight.absmax``, the scales, and the quant_state.  With double quantization the scales are codes of 8
            bits into ``.weight.nested_quant_map``, with scales in ``.weight.nested_absmax`` for blocks of their own and
            an offset in the quant_state.
        shape: any shape with as many elements.

    Source: bitsandbytes 0.50.2, functional.dequantize_4bit and backends/default/ops.py.
    """
    state, count = _state(tensors), prod(shape)
    scales, table = tensors[".weight.absmax"], tensors.get(".weight.nested_quant_map")
    is_nested = scales.dtype == np.uint8
    if is_nested != (table is not None) or is_nested != (".weight.nested_absmax" in tensors):
        raise ValueError(f"absmax are {scales.dtype.name}, which nested_absmax and nested_quant_map contradict")
    if table is not None:
        outer = tensors[".weight.nested_absmax"]
        scales = _in_blocks(table[scales], outer, state, "nested_blocksize") + _number(state, "nested_offset")
    codes = table_codes(tensors[".weight"], count)
    return _in_blocks(tensors[".weight.quant_map"][codes], scales, state, "blocksize").reshape(shape)


def int8_weight(tensors: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
    """Return code·scale/127, with a scale for each row.

    Args:
        tensors: ``.weight`` (rows, columns), ``.SCB`` (rows) and the number of the order of bytes, ``.weight_format``.
        shape: (rows, columns).

    Source: bitsandbytes 0.50.2, _ops.py (int8_vectorwise_dequant) and nn/modules.py (maybe_rearrange_weight).
    """
    order = int(tensors[".weight_format"]) if ".weight_format" in tensors else 0
    if order:
        name = _ORDERS[order] if order < len(_ORDERS) else str(order)
        raise ValueError(f"its weight_format is {name}, the order of a kernel; only row is known")
    numbers: Array = tensors[".weight"].astype(np.float32) * tensors[".SCB"].astype(np.float32)[:, None] * _INVERSE
    return numbers


def _state(tensors: Mapping[str, Array]) -> dict[str, Any]:
    """Return the quant_state.

    Raises:
        ValueError: there is none, or it is no JSON.
    """
    name = next((name for name in tensors if name.startswith(_STATE)), None)
    if name is None:
        raise ValueError("it has no quant_state")
    try:
        state = json.loads(tensors[name].astype(np.uint8).tobytes())
    except (ValueError, RecursionError) as why:
        raise ValueError(f"its quant_state is no JSON: {why}") from why
    if not isinstance(state, dict):
        raise ValueError("its quant_state is no object")
    return state


def _number(state: Mapping[str, Any], key: str) -> np.float32:
    number = state.get(key)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"its quant_state has the {key} {number}")
    return np.float32(number)


def _in_blocks(numbers: Array, scales: Array, state: Mapping[str, Any], key: str) -> Array:
    """Return numbers times the scales of their blocks, whose size stands in the quant_state."""
    size = state.get(key)
    if not isinstance(size, int) or size < 1:
        raise ValueError(f"its quant_state has the {key} {size}")
    if scales.size != -(-numbers.size // size):
        raise ValueError(f"{numbers.size} numbers are {-(-numbers.size // size)} blocks of {size}, not {scales.size}")
    return times_scales(numbers.astype(np.float32), scales.astype(np.float32), size)
