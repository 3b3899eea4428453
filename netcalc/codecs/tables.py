"""Codes of 4 bits into a table of numbers, as bitsandbytes has them: nf4, fp4, with and without double quantization."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from netcalc.arrays import Array
from netcalc.codecs.codec import Shape, Tensors, groups_of, inverse, magnitude
from netcalc.codecs.planes import Planes

_BLOCK, _NESTED = 64, 256
_PAIRS = Planes(1, 2, 1, 4)
#: bitsandbytes 0.50.2, functional.get_4bit_type: quantiles of a normal distribution, and 3-bit floats with a sign.
_NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
    *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
    *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
_FP4 = (0.0, 0.0625, 8.0, 12.0, 4.0, 6.0, 2.0, 3.0)


@cache
def table(name: str) -> Array:
    """Return the 16 numbers of a table, of which the greatest is 1."""
    if name == "nf4":
        return np.array(_NF4, np.float32)
    return (np.array([*_FP4, *(-number for number in _FP4)], np.float32) / np.float32(12)).astype(np.float32)


@cache
def dynamic_table() -> Array:
    """Return the 256 numbers of 8-bit scales: a fraction of as many bits as the decimal exponent leaves.

    Source: Dettmers 2015, arXiv:1511.04561; bitsandbytes 0.50.2, functional.create_dynamic_map.
    """
    numbers = [0.0, 1.0]
    for exponent in range(7):
        bounds = np.linspace(0.1, 1, 2**exponent + 1, dtype=np.float32)
        means = ((bounds[:-1] + bounds[1:]) / np.float32(2)) * np.float32(10.0 ** (exponent - 6))
        numbers += [*means.tolist(), *(-means).tolist()]
    return np.array(sorted(numbers), np.float32)


def nearest(values: Array, numbers: Array) -> Array:
    """Return the place of the nearest number of a table for each value, of two the smaller one."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    after = np.searchsorted(ordered, values).clip(1, len(ordered) - 1)
    below, above = values - ordered[after - 1], ordered[after] - values
    places: Array = order[np.where(below <= above, after - 1, after)].astype(np.uint8)
    return places


class TableCodes:
    """Codes in blocks of the flattened tensor; the first of two in a byte has the high bits."""

    def __init__(self, name: str, *, nested: bool = False) -> None:
        self._table = table(name)
        self._nested = nested
        self.rows = 0 if nested else _BLOCK

    def encode(self, values: Array) -> Tensors:
        """Return codes, scales and tables; with double quantization also the mean of the scales, which is taken off."""
        flat = values.reshape(-1).astype(np.float32)
        blocks = groups_of(flat, _BLOCK)
        scales = magnitude(blocks)
        codes = nearest((blocks * inverse(scales)).clip(-1, 1), self._table).reshape(-1)[: flat.size]
        codes = np.pad(codes, (0, flat.size % 2), constant_values=nearest(np.zeros(1), self._table)[0])
        packed = _PAIRS.pack(codes.reshape(-1, 2)[:, ::-1]).reshape(-1)
        tensors = {"values": packed, "scales": scales.reshape(-1), "table": self._table}
        if not self._nested:
            return tensors
        offset = scales.mean(dtype=np.float32)
        parts = groups_of(tensors["scales"] - offset, _NESTED)
        greatest = magnitude(parts)
        places = nearest((parts * inverse(greatest)).clip(-1, 1), dynamic_table()).reshape(-1)[: scales.size]
        nested = {"scales of scales": greatest.reshape(-1), "table of scales": dynamic_table()}
        return {**tensors, "scales": places, **nested, "offset of scales": offset.reshape(1)}

    def decode(self, tensors: Tensors, shape: Shape) -> Array:
        """Return the values."""
        scales = tensors["scales"]
        if self._nested:
            table, outer = tensors["table of scales"], tensors["scales of scales"]
            scales = times_scales(table[scales], outer, _NESTED) + tensors["offset of scales"]
        numbers = tensors["table"][table_codes(tensors["values"], prod(shape))]
        return times_scales(numbers, scales, _BLOCK).reshape(shape)


def table_codes(packed: Array, count: int) -> Array:
    """Return the first codes of 4 bits in bytes, of two the one in the high bits first."""
    return _PAIRS.unpack(packed).reshape(-1, 2)[:, ::-1].reshape(-1)[:count]


def times_scales(numbers: Array, scales: Array, block: int) -> Array:
    """Return a list of numbers, each times the scale of its block."""
    values: Array = numbers * scales.repeat(block)[: numbers.size]
    return values
