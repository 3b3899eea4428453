"""References of :mod:`netcalc.ops.position_bias`, pair by pair, after the papers that the operations name."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, Value, parameters, reference, table


@reference("relative_position_bias")
def learned_bias(op: Attributes, **tables: Array) -> Expected:
    return _looked_up(op, tables["relative_position_bias_table"], tables["relative_position_index"], op.dtype)


@reference("relative_position_lookup")
def computed_bias(op: Attributes, rows: Array, *, relative_position_index: Array) -> Expected:
    return _looked_up(op, rows, relative_position_index, rows.dtype.name)


def _looked_up(op: Attributes, rows: Array, places: Array, dtype: str) -> Expected:
    count = math.prod(op.window_size) + op.class_token

    def at(index: Shape) -> float:
        head, query, key = index
        return float(rows[int(places[query * count + key]), head])

    return Expected((rows.shape[1], count, count), dtype, at)


@parameters("relative_position_bias", "relative_position_lookup")
def index_and_table(op: Attributes, *inputs: Shape) -> dict[str, Shape]:
    offsets = math.prod(2 * side - 1 for side in op.window_size) + (3 if op.class_token else 0)
    pairs = (math.prod(op.window_size) + op.class_token) ** 2
    shapes: dict[str, Shape] = {"relative_position_index": (pairs,)}
    return shapes if inputs else {**shapes, "relative_position_bias_table": (offsets, op.num_heads)}


@table("relative_position_bias", "relative_position_lookup")
def pair_rows(op: Attributes, name: str, shape: Shape) -> Expected:
    places = list(product(*map(range, op.window_size)))
    offsets = product(*(range(1 - side, side) for side in op.window_size))
    row = {offset: number for number, offset in enumerate(offsets)}
    count = len(places) + op.class_token

    def at(index: Shape) -> int:
        query, key = divmod(index[0], count)
        if op.class_token:  # rows after the offsets: from the token, to it, and of the token itself
            if query == 0 or key == 0:
                return len(row) + (2 if query == key else 0 if query == 0 else 1)
            query, key = query - 1, key - 1
        return row[tuple(a - b for a, b in zip(places[query], places[key], strict=True))]

    return Expected((count * count,), "int64", at)


@reference("relative_coordinates")
def coordinates(op: Attributes, *, relative_coords_table: Array) -> Expected:
    shape = (1, *(2 * side - 1 for side in op.window_size), len(op.window_size))
    return Expected(shape, op.dtype, lambda index: float(relative_coords_table[index]))


@parameters("relative_coordinates")
def coordinates_shape(op: Attributes) -> dict[str, Shape]:
    return {"relative_coords_table": (1, *(2 * side - 1 for side in op.window_size), len(op.window_size))}


@table("relative_coordinates")
def logarithmic(op: Attributes, name: str, shape: Shape) -> Expected:
    def at(index: Shape) -> Value:
        _, *place, axis = index
        extent = (op.pretrained_window_size or op.window_size)[axis]
        scaled = 8 * (place[axis] - (op.window_size[axis] - 1)) / max(extent - 1, 1)
        return Value(math.copysign(math.log1p(abs(scaled)) / math.log(8), scaled), 1)  # rounding of 1 + |scaled|

    return Expected((1, *(2 * side - 1 for side in op.window_size), len(op.window_size)), op.dtype, at)


def _lengths(op: Attributes, query: Array, key: Array | None) -> tuple[int, int, int]:
    """Return the numbers of queries and keys, and the position of the first query."""
    queries = query.shape[-2]
    if key is None:
        return queries, op.offset + queries, op.offset
    keys = key.shape[-2]
    return queries, keys, keys - queries if op.alignment == "lower_right" else 0


@reference("t5_position_bias")
def t5_bias(op: Attributes, query: Array, key: Array | None = None, *, weight: Array) -> Expected:
    queries, keys, first = _lengths(op, query, key)

    def at(index: Shape) -> float:
        _, head, i, j = index
        return float(weight[_bucket(op, j - (first + i)), head])

    return Expected((1, op.num_heads, queries, keys), query.dtype.name, at)


def _bucket(op: Attributes, offset: int) -> int:
    """Return the bucket of a key's offset from the query, by mesh_tensorflow's ``_relative_position_bucket``."""
    buckets, first = int(op.num_buckets), 0
    if op.bidirectional:
        buckets //= 2
        first = buckets if offset > 0 else 0
    elif offset > 0:
        offset = 0
    distance, exact = abs(offset), buckets // 2
    if distance < exact:
        return first + distance
    # in single precision, which decides at the ends of the ranges
    share = np.log(np.float32(distance) / np.float32(exact)) / np.float32(math.log(op.max_distance / exact))
    return first + min(exact + int(share * np.float32(buckets - exact)), buckets - 1)


@parameters("t5_position_bias")
def buckets(op: Attributes, query: Shape, key: Shape | None = None) -> dict[str, Shape]:
    return {"weight": (op.num_buckets, op.num_heads)}


@reference("alibi_bias")
def alibi(op: Attributes, query: Array, key: Array | None = None) -> Expected:
    queries, keys, first = _lengths(op, query, key)
    slopes = _slopes(op.num_heads, op.max_bias)

    def at(index: Shape) -> float:
        head, i, j = index
        return -slopes[head] * abs(first + i - j) if op.per_query else slopes[head] * j

    return Expected((op.num_heads, queries if op.per_query else 1, keys), query.dtype.name, at)


def _slopes(heads: int, max_bias: float) -> list[float]:
    """Return the slope of each head, as the recursion of the authors' code does."""
    if heads & (heads - 1) == 0:
        ratio = 2 ** (-max_bias / heads)
        return [ratio ** (head + 1) for head in range(heads)]
    power = 1 << (heads.bit_length() - 1)
    return _slopes(power, max_bias) + _slopes(2 * power, max_bias)[0::2][: heads - power]
