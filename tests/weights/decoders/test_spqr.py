"""Numbers of SpQR, packed as spqr_quant 0.2.0 does (inference_kernels/spqr_cuda.cpp, tensor_compress_interleaved)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays

HALF = np.float16
ROWS, COLUMNS = 48, 32


def layer(*, interleaved: bool, ordered: bool) -> tuple[dict[str, Array], Array]:
    generator = np.random.default_rng(0)
    weights = generator.integers(0, 8, (ROWS, COLUMNS))
    first = generator.integers(0, 8, (ROWS, COLUMNS // 16, 2))  # codes of scale and zero point
    # in their order in 64 bits: scale of scales, scale of zero points, zero point of scales, that of zero points
    second = generator.random((ROWS // 16, COLUMNS // 16, 4)).astype(HALF)
    words, dense = [], np.empty((ROWS, COLUMNS), np.float32)
    for tall, wide in product(range(ROWS // 16), range(COLUMNS // 16)):
        factors = second[tall, wide]
        bits = int.from_bytes(factors.tobytes(), "little")
        for inner in range(16):
            row = 16 * tall + inner
            codes = [*first[row, wide], *weights[row, 16 * wide : 16 * wide + 16]]
            word = sum(int(code) << (3 * place) for place, code in enumerate(codes))
            words.append(word | ((bits >> (8 * (inner // 2))) & 255) << 54)
            scale = HALF(factors[0] * HALF(HALF(codes[0]) - factors[2]))
            zero = HALF(factors[1] * HALF(HALF(codes[1]) - factors[3]))
            for column in range(16):
                dense[row, 16 * wide + column] = HALF(scale * HALF(HALF(codes[2 + column]) - zero))
    outliers: list[list[tuple[int, float]]] = [[] for _ in range(ROWS)]
    for row in range(ROWS):
        for column in generator.choice(COLUMNS, generator.integers(0, 4), replace=False):
            value = HALF(generator.standard_normal() * 10)
            outliers[row].append((int(column), float(value)))
            dense[row, column] += np.float32(value)
    entries, offsets = [], [0]
    for block in range(0, ROWS, 16) if interleaved else []:
        count = max(len(line) for line in outliers[block : block + 16])
        for place, row in product(range(count), range(block, block + 16)):
            entries.append(outliers[row][place] if place < len(outliers[row]) else (0, 0.0))
        offsets.append(len(entries))
    for line in [] if interleaved else outliers:
        entries += line
        offsets.append(len(entries))
    merged = [column | int(HALF(value).view(np.uint16)) << 16 for column, value in entries]
    tensors: dict[str, Array] = {
        "up.dense_weights": np.array(words, np.uint64).view(np.int64),
        "up.row_offsets": np.array(offsets, np.int32),
        "up.col_vals": np.array(merged, np.uint32).view(np.int32),
        "up.in_perm": np.zeros(0, np.int32),
    }
    numbers = dense.astype(HALF).astype(np.float32)
    if ordered:  # the kernel multiplies element order[i] of the inputs by column i
        order = generator.permutation(COLUMNS)
        tensors["up.in_perm"] = order.astype(np.uint16).view(np.int32)
        stored = numbers.copy()
        for place, column in enumerate(order):
            numbers[:, column] = stored[:, place]
    return tensors, numbers


def numbers_of(tensors: dict[str, Array]) -> Array:
    said = {"quant_method": "spqr", "shapes": {f"{name}.shape": len(array) for name, array in tensors.items()}}
    stored = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": said}, "config.json"))
    stored.take_shapes({"up.weight": (ROWS, COLUMNS)})
    return stored.load("up.weight")


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_layers(interleaved: bool, ordered: bool) -> None:
    tensors, numbers = layer(interleaved=interleaved, ordered=ordered)
    np.testing.assert_array_equal(numbers_of(tensors), numbers)


@pytest.mark.parametrize(
    ("name", "place", "number", "message"),
    [
        ("row_offsets", 1, 10_000, "row_offsets do not divide the"),
        ("col_vals", 0, COLUMNS, "outliers are beyond 48 × 32"),
        ("in_perm", 0, 0, "in_perm is no order of the columns"),
    ],
)
def test_damaged_tensors(name: str, place: int, number: int, message: str) -> None:
    tensors, _ = layer(interleaved=False, ordered=True)
    tensors[f"up.{name}"][place] = number
    with pytest.raises(NetcalcError, match=f"'up.weight' does not decode: {message}"):
        numbers_of(tensors)
