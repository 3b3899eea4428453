"""Numbers of torchao's tensors, packed element by element; see the decoders for the source of each layout."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays
from tests.formats.huggingface.packed import torchao
from tests.weights.decoders.harness import decoded, folder_of, outputs

ROWS, COLUMNS = 32, 64
E4M3, E8M0, BF16 = (numpy_dtype(name) for name in ("float8_e4m3fn", "float8_e8m0fnu", "bfloat16"))
#: Numbers of 4-bit floats by their codes (OCP MX 1.0, section 5.3.3).
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6]


def said(kind: str, **fields: Any) -> dict[str, Any]:
    settings: dict[str, Any] = torchao(kind, **fields)["quantization_config"]
    return settings


def by_loop(number: Callable[[int, int], float], rows: int = ROWS, columns: int = COLUMNS) -> Array:
    numbers = np.empty((rows, columns), np.float32)
    for row, column in product(range(rows), range(columns)):
        numbers[row, column] = number(row, column)
    return numbers


@pytest.mark.parametrize("tile", [(1, COLUMNS), (1, 16), (ROWS, COLUMNS), (16, 32)], ids=str)
@pytest.mark.parametrize("kind", ["Int8WeightOnlyConfig", "IntxWeightOnlyConfig", "Float8WeightOnlyConfig"])
@pytest.mark.parametrize("for_inputs", [False, True])
def test_bytes(kind: str, tile: tuple[int, int], for_inputs: bool) -> None:
    generator = np.random.default_rng(1)
    grid = (ROWS // tile[0], COLUMNS // tile[1])
    codes = generator.integers(-128, 128, (ROWS, COLUMNS)).astype(np.int8)
    values = codes.astype(E4M3) if kind == "Float8WeightOnlyConfig" else codes
    scales = generator.random(grid).astype(BF16 if kind == "IntxWeightOnlyConfig" else np.float32)
    tensors = {"up._weight_qdata": values, "up._weight_scale": scales}
    zeros = np.zeros(grid, np.int8)
    if values.dtype == np.int8:
        zeros = tensors["up._weight_zero_point"] = generator.integers(-128, 128, grid).astype(np.int8)
    inputs = np.ones(COLUMNS, np.float32)
    if for_inputs:
        inputs = tensors["up._weight_act_pre_scale"] = 2.0 ** generator.integers(-3, 3, COLUMNS).astype(np.float32)

    def number(row: int, column: int) -> float:
        place = row // tile[0], column // tile[1]
        code = np.float32(values[row, column]) - np.float32(zeros[place])
        return float(code * np.float32(scales[place]) * inputs[column])

    np.testing.assert_array_equal(decoded(tensors, said(kind)), by_loop(number))


def test_pairs_of_four_bits() -> None:
    generator = np.random.default_rng(2)
    codes = generator.integers(-8, 8, (ROWS, COLUMNS))
    scales, zeros = (generator.standard_normal((COLUMNS // 32, ROWS)).astype(BF16) for _ in range(2))
    packed = np.zeros((ROWS, COLUMNS // 2), np.uint8)
    for row, column in product(range(ROWS), range(COLUMNS)):
        packed[row, column // 2] |= (int(codes[row, column]) & 15) << (4 * (column % 2))
    tensors = {
        "up._weight_qdata": packed.view(np.int8),
        "up._weight_scale": scales,
        "up._weight_zero_point": zeros,
    }

    def number(row: int, column: int) -> float:
        group = column // 32
        return float(np.float32(codes[row, column]) * np.float32(scales[group, row]) + np.float32(zeros[group, row]))

    settings = said("Int4WeightOnlyConfig", group_size=32, int4_packing_format={"_data": "PLAIN"})
    np.testing.assert_array_equal(decoded(tensors, settings), by_loop(number))


def in_blocks(scales: Array) -> Array:
    """Return scales in blocks of 128 rows by 4 columns: the scale (row, column) of a block is at row % 32 of 16."""
    rows, columns = scales.shape
    tall, wide = -(-rows // 128), -(-columns // 4)
    blocks = np.zeros((tall, wide, 32, 16), scales.dtype)
    for row, column in product(range(rows), range(columns)):
        inner = row % 128
        blocks[row // 128, column // 4, inner % 32, 4 * (inner // 32) + column % 4] = scales[row, column]
    return blocks.reshape(tall * 32, wide * 16)


@pytest.mark.parametrize("rows", [32, 160])
def test_microscaling(rows: int) -> None:
    generator = np.random.default_rng(3)
    columns = 320
    config = said("MXDynamicActivationMXWeightConfig", block_size=32)
    exponents = generator.integers(100, 140, (rows, columns // 32)).astype(np.uint8)
    scales = in_blocks(exponents).view(E8M0)
    bytes_ = generator.integers(-100, 100, (rows, columns)).astype(E4M3)

    def number(row: int, column: int) -> float:
        return float(bytes_[row, column]) * 2.0 ** (int(exponents[row, column // 32]) - 127)

    tensors = {"up._weight_qdata": bytes_, "up._weight_scale": scales}
    np.testing.assert_array_equal(decoded(tensors, config), by_loop(number, rows, columns))

    codes = generator.integers(0, 16, (rows, columns))
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)

    def half(row: int, column: int) -> float:
        return E2M1[codes[row, column]] * 2.0 ** (int(exponents[row, column // 32]) - 127)

    tensors = {"up._weight_qdata": packed, "up._weight_scale": scales}
    np.testing.assert_array_equal(decoded(tensors, config), by_loop(half, rows, columns))


@pytest.mark.parametrize("outer", [None, 0.37])
def test_nvfp4(outer: float | None) -> None:
    generator = np.random.default_rng(4)
    rows, columns = 144, 80
    codes = generator.integers(0, 16, (rows, columns))
    scales = generator.random((rows, columns // 16)).astype(E4M3)
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    blocks = in_blocks(scales.view(np.uint8)).view(E4M3)
    tensors: dict[str, Array] = {"up._weight_qdata": packed, "up._weight_scale": blocks}
    if outer is not None:
        tensors["up._weight_per_tensor_scale"] = np.array(outer, np.float32)

    def number(row: int, column: int) -> float:
        scale = np.float32(scales[row, column // 16]) * np.float32(1 if outer is None else outer)
        return float(np.float32(E2M1[codes[row, column]]) * scale)

    np.testing.assert_array_equal(decoded(tensors, said("NVFP4WeightOnlyConfig")), by_loop(number, rows, columns))


def tiled(codes: Array, height: int) -> Array:
    """Return words of tiles as a loop over the threads of the kernel writes them (int4mm.cu, PyTorch 2.13).

    The kernel reads bytes of two columns, the first in the high bits.
    """
    rows, columns = codes.shape
    pairs = codes[:, ::2] << 4 | codes[:, 1::2]
    threads, steps = 4 * height, columns // 128
    out = np.zeros((rows // height, steps, threads, 4), np.int64)
    for tile, step, thread, inner in product(range(rows // height), range(steps), range(threads), range(0, 8, 2)):
        base = (step * 8 + inner) * 8
        if height == 8:
            row, first = tile * 8 + thread // 4, base + thread % 4
            places = [first, first + 4, first + 8, first + 12]
        else:
            row, first = tile * 16 + thread % 16, base + thread // 16 * 2
            places = [first, first + 1, first + 8, first + 9]
        value = [int(pairs[row, place]) for place in places]
        word = sum((v >> 4) << 4 * i | (v & 15) << (16 + 4 * i) for i, v in enumerate(value))
        out[tile, step, thread, inner // 2] = word
    return out.astype(np.uint32).view(np.int32).reshape(rows // 8, steps, 32, 4)


@pytest.mark.parametrize("height", [8, 16])
def test_tiles_of_four_bits(height: int) -> None:
    generator = np.random.default_rng(5)
    rows, columns, group = 25, 1000, 32
    tall, wide = -(-rows // height) * height, 1024
    codes = generator.integers(0, 16, (tall, wide))
    pairs = generator.standard_normal((wide // group, tall, 2)).astype(BF16)
    tensors = {"up._weight_qdata": tiled(codes, height), "up._weight_scale_and_zero": pairs}

    def number(row: int, column: int) -> float:
        scale, zero = pairs[column // group, row].astype(np.float32)
        return float(np.float32(codes[row, column] - 8) * scale + zero)

    settings = said(
        "Int4WeightOnlyConfig",
        group_size=group,
        int4_packing_format={"_data": "TILE_PACKED_TO_4D"},
        int4_tile_packed_ntile=height,
    )
    config = {"quantization_config": settings}
    stored = UnpackedTensors(Arrays(tensors), quantization_of(config, "config.json"))
    header = stored.headers["up.weight"]
    assert header.shape == (tall, wide)
    assert header.fits((rows, columns))
    assert not header.fits((tall + 1, columns))
    assert not header.fits((rows, wide + 1))
    stored.take_shapes({"up.weight": (rows, columns)})
    np.testing.assert_array_equal(stored.load("up.weight"), by_loop(number, rows, columns))


def test_groups_that_do_not_divide_are_no_layout() -> None:
    scales = np.ones((2, 32), BF16)
    tensors = {"up._weight_scale": scales, "up._weight_zero_point": scales}
    settings = said("Int4WeightOnlyConfig", group_size=32, int4_packing_format={"_data": "PLAIN"})
    stored = Arrays({**tensors, "up._weight_qdata": np.zeros((32, 25), np.int8)})
    header = UnpackedTensors(stored, quantization_of({"quantization_config": settings}, "config.json")).headers
    assert header["up.weight"].unpacking is not None
    assert "50 = 2·32" in header["up.weight"].unpacking.problem


def test_a_model_with_padded_tiles_runs(tmp_path: Path) -> None:
    settings = said(
        "Int4WeightOnlyConfig",
        group_size=32,
        int4_packing_format={"_data": "TILE_PACKED_TO_4D"},
        int4_tile_packed_ntile=8,
    )

    def pack(name: str, array: Array) -> dict[str, Array]:
        rows, columns = array.shape
        codes = np.full((rows, 1024), 8)
        codes[:, :columns] = np.rint(array * 100).clip(-8, 7).astype(int) + 8
        array[...] = (codes[:, :columns] - 8) / np.float32(128)
        scales = np.broadcast_to(np.array([1 / 128, 0], BF16), (1024 // 32, rows, 2))
        return {f"{name}._weight_qdata": tiled(codes, 8), f"{name}._weight_scale_and_zero": scales.copy()}

    folder, plain = folder_of(tmp_path / "packed", {"quantization_config": settings}, pack)
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
