"""Numbers of marlin-24, packed by hand from the fragments of the tensor cores and from CUTLASS's order of metadata.

A thread of a warp multiplies fragments of 16×8 (PTX ISA, matrix fragments of mma.m16n8k16): thread t has the column
t/4 and the rows 2·(t mod 4), the next one, and both 8 further.  Compressed-tensors 0.9.4 stores the fragments of 64
columns, of which each thread loads four words at once (marlin_24.py, pack_weight_24).  Metadata of 2 of 4 elements are
those of reorder_meta() in CUTLASS (tools/util/include/cutlass/util/host_reorder.h), as ColumnMajorInterleaved<2>.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.formats.huggingface.packed import compressed
from tests.weights.decoders.harness import decoded, words_of

PAIRS = list(combinations(range(4), 2))


def said(bits: int, group_size: int | None) -> dict[str, Any]:
    strategy = "group" if group_size else "channel"
    fields = {"num_bits": bits, "type": "int", "strategy": strategy, "group_size": group_size, "symmetric": True}
    config: dict[str, Any] = compressed("marlin-24", **fields)["quantization_config"]
    return config


def words(kept: Array, bits: int) -> Array:
    """Return the codes that are kept, (rows, kept), in words as the threads load them."""
    rows, count = kept.shape
    tiles = count // 16
    flat = [[0] * (rows * 16) for _ in range(tiles)]
    for tile in range(tiles):
        for row in range(rows):
            for place in range(16):
                flat[tile][row // 16 * 256 + place * 16 + row % 16] = int(kept[row, tile * 16 + place])
    stream = [code for tile in flat for code in tile]
    threads = []
    for start in range(0, len(stream), 1024):  # four tiles of 16 × 16
        for thread in range(32):
            column = thread // 4
            for load in range(4):
                fragment = []
                for block in range(2):
                    for place in (2 * (thread % 4), 2 * (thread % 4) + 1, 2 * (thread % 4) + 8, 2 * (thread % 4) + 9):
                        tile, column_in_tile = column // 2, 8 * (column % 2) + 4 * block + load
                        fragment.append(stream[start + tile * 256 + place * 16 + column_in_tile])
                step = 32 // bits  # of a word, those at even places come first
                for first in range(0, 8, step):
                    part = fragment[first : first + step]
                    threads += part[::2] + part[1::2]
    return np.array(words_of(threads, bits), np.int32).reshape(tiles, -1)


def metadata(places: Array) -> Array:
    """Return the places of codes, (rows, fours, 2), in integers of 16 bits in the order of CUTLASS."""
    rows, fours, _ = places.shape
    columns = fours // 4
    stored = np.zeros(rows * columns, np.uint16)
    for row in range(rows):
        for column in range(columns):
            bits = sum(
                (int(places[row, 4 * column + four, which]) << (4 * four + 2 * which))
                for four in range(4)
                for which in range(2)
            )
            group, inner = divmod(row, 64)
            target = group * 64 + inner % 2 * 2 + inner % 8 // 4 + inner % 4 // 2 * 32 + inner // 8 * 4
            other = column
            if target % 2 == 0 and column % 2 == 1:  # two by two, the ones off the diagonal change places
                target, other = target + 1, column - 1
            elif target % 2 == 1 and column % 2 == 0:
                target, other = target - 1, column + 1
            stored[other // 2 * 2 * rows + target * 2 + other % 2] = bits
    return stored.view(np.int16).reshape(columns // 2, 2 * rows)


def layer(bits: int, rows: int, columns: int, group_size: int | None) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer with drawn codes, and code·scale."""
    generator = np.random.default_rng(bits + rows)
    groups = columns // group_size if group_size else 1
    kept = generator.integers(0, 1 << bits, (rows, columns // 2))
    places = np.array(PAIRS)[generator.integers(0, 6, (rows, columns // 4))]
    scales = generator.random((rows, groups)).astype(np.float16)
    numbers = np.zeros((rows, columns), np.float32)
    for row in range(rows):
        for place in range(columns // 2):
            column = place // 2 * 4 + int(places[row, place // 2, place % 2])
            numbers[row, column] = (int(kept[row, place]) - (1 << (bits - 1))) * float(
                scales[row, column * groups // columns]
            )
    stored = np.empty((groups, rows), np.float16)
    for row in range(rows):
        eighth, inner = divmod(row, 8)
        source = (inner // 2 + 4 * (inner % 2)) if group_size and group_size < columns // 2 else inner
        stored[:, row] = scales[8 * eighth + source]
    return {
        "up.weight_packed": words(kept, bits),
        "up.scale_packed": stored,
        "up.meta": metadata(places),
    }, numbers


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(
    ("rows", "columns", "group_size"),
    [(64, 64, None), (64, 128, 32), (128, 256, 128), (64, 512, 128), (192, 128, 128), (64, 128, 64)],
)
def test_layers(bits: int, rows: int, columns: int, group_size: int | None) -> None:
    tensors, numbers = layer(bits, rows, columns, group_size)
    np.testing.assert_array_equal(decoded(tensors, said(bits, group_size)), numbers)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("meta", np.zeros((4, 128), np.int16), "meta has two codes for a column"),
        ("meta", np.zeros((4, 128), np.int32), "meta is int32, and should be int16"),
    ],
)
def test_damaged_metadata_are_an_error(name: str, value: Array, reason: str) -> None:
    tensors, _ = layer(4, 64, 128, 32)
    with pytest.raises(NetcalcError, match=reason):
        decoded(tensors | {f"up.{name}": value}, said(4, 32))


def test_rows_that_are_no_tiles_are_an_error() -> None:
    tensors, _ = layer(4, 64, 128, 32)
    half = {
        "up.weight_packed": tensors["up.weight_packed"][:, :64],
        "up.scale_packed": tensors["up.scale_packed"][:, :32],
        "up.meta": tensors["up.meta"][:, :64],
    }
    with pytest.raises(NetcalcError, match="32×128 are no tiles of 64 rows and 32 columns"):
        decoded(half, said(4, 32))
