"""Numbers of compressed-tensors, packed by hand as its versions 0.20.0 and, for earlier layouts, 0.9.4 do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays
from tests.formats.huggingface.packed import compressed
from tests.weights.decoders.floats import E2M1, pairs
from tests.weights.decoders.harness import decoded, folder_of, outputs, words_of

ROWS, COLUMNS = 16, 96


def said(format_: str, **weights: Any) -> dict[str, Any]:
    config: dict[str, Any] = compressed(format_, **weights)["quantization_config"]
    return config


def words_with_gaps(codes: list[int], bits: int) -> list[int]:
    """Return codes in words of their own for as many as fit (0.9.4, pack_quantized.py, pack_to_int32)."""
    most = 32 // bits
    return [word for start in range(0, len(codes), most) for word in words_of(codes[start : start + most], bits)]


def packed(codes: Array, bits: int, *, gaps: bool = False) -> Array:
    """Return rows of integers in words, as codes that are 2^(bits − 1) more."""
    pack = words_with_gaps if gaps else words_of
    half = 1 << (bits - 1)
    return np.array([pack([int(code) + half for code in row], bits) for row in codes], np.int32)


def drawn(generator: np.random.Generator, bits: int, *shape: int) -> Array:
    return generator.integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)


def product(codes: Array, scales: Array, zeros: Array | None, group_of: list[int]) -> Array:
    """Return (code − zero)·scale by a loop; scales and zeros are (rows, groups)."""
    numbers = np.empty(codes.shape, np.float32)
    for row in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            group = group_of[column]
            zero = 0 if zeros is None else int(zeros[row, group])
            numbers[row, column] = np.float32(int(codes[row, column]) - zero) * np.float32(scales[row, group])
    return numbers


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("group_size", "groups"), [(32, 3), (None, 1)])
def test_words(bits: int, gaps: bool, symmetric: bool, group_size: int | None, groups: int) -> None:
    generator = np.random.default_rng(bits)
    codes = drawn(generator, bits, ROWS, COLUMNS)
    zeros = None if symmetric else drawn(generator, bits, ROWS, groups)
    scales = generator.random((ROWS, groups)).astype(np.float16)
    tensors = {"up.weight_packed": packed(codes, bits, gaps=gaps), "up.weight_scale": scales}
    tensors["up.weight_shape"] = np.array([ROWS, COLUMNS])
    if zeros is not None:
        tensors["up.weight_zero_point"] = np.ascontiguousarray(packed(zeros.T, bits, gaps=gaps).T)
    strategy = "group" if group_size else "channel"
    config = said(
        "pack-quantized", num_bits=bits, type="int", strategy=strategy, group_size=group_size, symmetric=symmetric
    )
    view = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": config}, "config.json"))
    view.read_shapes()  # a row of words leaves the number of columns open
    group_of = [column * groups // COLUMNS for column in range(COLUMNS)]
    np.testing.assert_array_equal(view.load("up.weight"), product(codes, scales, zeros, group_of))


def test_words_of_columns_in_an_order_of_their_own() -> None:
    generator = np.random.default_rng(1)
    codes, scales = drawn(generator, 4, ROWS, COLUMNS), generator.random((ROWS, 3)).astype(np.float16)
    zeros = drawn(generator, 4, ROWS, 3)
    order = np.repeat(np.arange(3, dtype=np.int32), 32)
    generator.shuffle(order)
    tensors = {
        "up.weight_packed": packed(codes, 4),
        "up.weight_scale": scales,
        "up.weight_g_idx": order,
        "up.weight_zero_point": np.ascontiguousarray(packed(zeros.T, 4).T),
    }
    config = said("pack-quantized", num_bits=4, group_size=32, actorder="group", symmetric=False)
    np.testing.assert_array_equal(decoded(tensors, config), product(codes, scales, zeros, order.tolist()))
    unset = tensors | {"up.weight_g_idx": np.full(COLUMNS, -1, np.int32)}
    in_order = [column // 32 for column in range(COLUMNS)]
    np.testing.assert_array_equal(decoded(unset, config), product(codes, scales, zeros, in_order))


def test_words_of_experts() -> None:
    generator = np.random.default_rng(2)
    codes, zeros = drawn(generator, 4, 3, ROWS, 64), drawn(generator, 4, 3, ROWS, 2)
    scales = generator.random((3, ROWS, 2)).astype(np.float16)
    tensors = {
        "up.weight_packed": np.stack([packed(part, 4) for part in codes]),
        "up.weight_scale": scales,
        "up.weight_zero_point": np.stack([packed(part.T, 4).T for part in zeros]),
    }
    config = said("pack-quantized", num_bits=4, group_size=32, symmetric=False)
    group_of = [column // 32 for column in range(64)]
    numbers = [product(*parts, group_of) for parts in zip(codes, scales, zeros, strict=True)]
    np.testing.assert_array_equal(decoded(tensors, config), np.stack(numbers))


def test_zero_points_that_are_not_packed() -> None:
    generator = np.random.default_rng(3)
    codes, scales = drawn(generator, 4, ROWS, 64), generator.random((ROWS, 2)).astype(np.float16)
    zeros = drawn(generator, 4, ROWS, 2).astype(np.int8)
    tensors = {"up.weight_packed": packed(codes, 4), "up.weight_scale": scales, "up.weight_zero_point": zeros}
    config = said("pack-quantized", num_bits=4, group_size=32, symmetric=False)
    group_of = [column // 32 for column in range(64)]
    np.testing.assert_array_equal(decoded(tensors, config), product(codes, scales, zeros, group_of))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weight_g_idx": np.full(64, 2, np.int32)}, "g_idx names groups beyond the 2"),
        (
            {"weight_zero_point": np.zeros((ROWS, 1), np.int8)},
            r"zero_point' is 16×1, and should be \[\.\.\., rows, groups\]",
        ),
        ({"weight_zero_point": np.zeros((3, 2), np.int32)}, r"3 = ⌈16·4/32⌉ .* does not hold"),
    ],
)
def test_damaged_companions_of_words_are_errors(changes: dict[str, Array], reason: str) -> None:
    tensors = {
        "weight_packed": np.zeros((ROWS, 8), np.int32),
        "weight_scale": np.ones((ROWS, 2), np.float16),
        **changes,
    }
    config = said("pack-quantized", num_bits=4, group_size=32, symmetric=True)
    with pytest.raises(NetcalcError, match=reason):
        decoded({f"up.{name}": array for name, array in tensors.items()}, config)


def test_words_that_may_have_gaps_or_not_are_an_error() -> None:
    """16 codes of 3 bits take 2 words either way."""
    tensors = {"up.weight_packed": np.zeros((ROWS, 2), np.int32), "up.weight_scale": np.ones((ROWS, 1), np.float16)}
    with pytest.raises(NetcalcError, match="16 codes of 3 bits take 2 words with gaps and without"):
        decoded(tensors, said("pack-quantized", num_bits=3, group_size=16))


@pytest.mark.parametrize("shape", [[], [16]])
def test_a_stored_shape_that_is_none(shape: list[int]) -> None:
    tensors = {"up.weight_packed": np.zeros((ROWS, 8), np.int32), "up.weight_scale": np.ones((ROWS, 2), np.float16)}
    tensors["up.weight_shape"] = np.array(shape, np.int64)
    config = said("pack-quantized", num_bits=4, group_size=32)
    view = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": config}, "config.json"))
    view.read_shapes()
    assert view.headers["up.weight"].shape == (tuple(shape) or (ROWS, 64))


@pytest.mark.parametrize("shape", [[-1, 64], [0, 64]])
def test_a_stored_shape_without_sizes_is_an_error(shape: list[int]) -> None:
    tensors = {"up.weight_packed": np.zeros((ROWS, 8), np.int32), "up.weight_scale": np.ones((ROWS, 2), np.float16)}
    tensors["up.weight_shape"] = np.array(shape)
    config = said("pack-quantized", num_bits=4, group_size=32)
    view = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": config}, "config.json"))
    with pytest.raises(NetcalcError, match="its weight_shape is"):
        view.read_shapes()


FLOAT8 = np.array([*range(127), *range(128, 255)], np.uint8).view(ml_dtypes.float8_e4m3fn)  # without the two NaN
#: Strategy, further fields, shape of the scales, and the scale of an element.
PLAIN: list[tuple[str, dict[str, Any], tuple[int, ...], Any]] = [
    ("tensor", {}, (), lambda row, column: ()),
    ("tensor", {}, (1,), lambda row, column: (0,)),
    ("channel", {}, (ROWS, 1), lambda row, column: (row, 0)),
    ("channel", {}, (ROWS,), lambda row, column: (row,)),
    ("group", {"group_size": 32}, (ROWS, 3), lambda row, column: (row, column // 32)),
    ("block", {"block_structure": [8, 32]}, (2, 3), lambda row, column: (row // 8, column // 32)),
    ("block", {"block_structure": [10, 40]}, (2, 3), lambda row, column: (row // 10, column // 40)),
    ("block", {"block_structure": "10x40"}, (2, 3), lambda row, column: (row // 10, column // 40)),
]


@pytest.mark.parametrize(("strategy", "fields", "shape", "place"), PLAIN)
@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_numbers_that_are_elements(
    strategy: str, fields: dict[str, Any], shape: tuple[int, ...], place: Any, kind: str, symmetric: bool
) -> None:
    generator = np.random.default_rng(4)
    codes = (
        generator.integers(-128, 128, (ROWS, COLUMNS)).astype(np.int8)
        if kind == "int"
        else generator.choice(FLOAT8, (ROWS, COLUMNS))
    )
    scales = generator.random(shape).astype(ml_dtypes.bfloat16)
    zeros = generator.integers(-128, 128, shape).astype(np.int8)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row in range(ROWS):
        for column in range(COLUMNS):
            at = place(row, column)
            zero = 0 if symmetric else int(zeros[at])
            numbers[row, column] = (np.float32(codes[row, column]) - np.float32(zero)) * np.float32(scales[at])
    tensors = {"up.weight": codes, "up.weight_scale": np.asarray(scales)}
    if not symmetric:
        tensors["up.weight_zero_point"] = np.asarray(zeros)
    for format_ in (f"{kind}-quantized", "naive-quantized"):
        config = said(format_, num_bits=8, type=kind, strategy=strategy, symmetric=symmetric, **fields)
        np.testing.assert_array_equal(decoded(tensors, config), numbers)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"strategy": "channel"}, "2 = 16 and 3 = 1 does not hold"),
        (
            {"strategy": "block", "block_structure": [8, 8]},
            "2 = ⌈16/8⌉ and 3 = ⌈96/8⌉ does not hold",
        ),
        ({"strategy": "block", "block_structure": None}, "the block_structure is None"),
        ({"strategy": "block", "block_structure": [0, 8]}, "division by zero"),
    ],
)
def test_scales_of_other_parts_are_an_error(fields: dict[str, Any], reason: str) -> None:
    tensors = {"up.weight": np.zeros((ROWS, COLUMNS), np.int8), "up.weight_scale": np.ones((2, 3), np.float16)}
    with pytest.raises(NetcalcError, match=reason):
        decoded(tensors, said("int-quantized", num_bits=8, **fields))


def test_floats_with_exponents() -> None:
    generator = np.random.default_rng(5)
    codes = generator.choice(FLOAT8, (ROWS, COLUMNS))
    scales = generator.integers(100, 150, (ROWS, 3)).astype(np.uint8)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row in range(ROWS):
        for column in range(COLUMNS):
            numbers[row, column] = float(codes[row, column]) * 2.0 ** (int(scales[row, column // 32]) - 127)
    tensors = {"up.weight": codes, "up.weight_scale": scales}
    config = said("mxfp8-quantized", num_bits=8, type="float", strategy="group", group_size=32)
    np.testing.assert_array_equal(decoded(tensors, config), numbers)


def four_bits(codes: Array) -> tuple[Array, Array]:
    """Return codes of floats in bytes, and their numbers."""
    packed = np.array([pairs([int(code) for code in row]) for row in codes], np.uint8)
    return packed, np.array([[E2M1[code] for code in row] for row in codes], np.float32)


@pytest.mark.parametrize("shape", [(1,), (), None])
def test_nvfp4(shape: tuple[int, ...] | None) -> None:
    generator = np.random.default_rng(6)
    codes, numbers = four_bits(generator.integers(0, 16, (ROWS, COLUMNS)))
    scales = generator.choice(FLOAT8[:127], (ROWS, COLUMNS // 16))
    outer = np.float32(3.7)
    for row in range(ROWS):
        for column in range(COLUMNS):
            scale = np.float32(scales[row, column // 16])
            numbers[row, column] *= scale if shape is None else scale / outer
    tensors = {"up.weight_packed": codes, "up.weight_scale": scales}
    if shape is not None:
        tensors["up.weight_global_scale"] = np.full(shape, outer)
    config = said("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16)
    np.testing.assert_array_equal(decoded(tensors, config), numbers)


def test_nvfp4_of_experts() -> None:
    generator = np.random.default_rng(7)
    parts = [four_bits(generator.integers(0, 16, (ROWS, 32))) for _ in range(3)]
    scales = generator.choice(FLOAT8[:127], (3, ROWS, 2))
    outer = generator.random((3, 1)).astype(np.float32) + 1
    expected = np.stack([numbers for _, numbers in parts])
    for expert, row, column in np.ndindex(3, ROWS, 32):
        expected[expert, row, column] *= np.float32(scales[expert, row, column // 16]) / outer[expert, 0]
    tensors = {"up.weight_packed": np.stack([codes for codes, _ in parts]), "up.weight_scale": scales}
    tensors["up.weight_global_scale"] = outer
    config = said("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16)
    np.testing.assert_array_equal(decoded(tensors, config), expected)


def test_mxfp4() -> None:
    generator = np.random.default_rng(8)
    codes, numbers = four_bits(generator.integers(0, 16, (ROWS, COLUMNS)))
    scales = generator.integers(0, 250, (ROWS, COLUMNS // 32)).astype(np.uint8)
    for row in range(ROWS):
        for column in range(COLUMNS):
            numbers[row, column] *= np.float32(2.0 ** (int(scales[row, column // 32]) - 127))
    tensors = {"up.weight_packed": codes, "up.weight_scale": scales}
    config = said("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group", group_size=32)
    np.testing.assert_array_equal(decoded(tensors, config), numbers)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("weight_global_scale", np.zeros(1, np.float32), "its weight_global_scale is 0"),
        ("weight_zero_point", np.ones((ROWS, 6), np.float32), "floats of 4 bits have no zero points"),
    ],
)
def test_companions_that_floats_of_4_bits_do_not_have(name: str, value: Array, reason: str) -> None:
    codes, _ = four_bits(np.zeros((ROWS, COLUMNS), int))
    scales = np.ones((ROWS, COLUMNS // 16), ml_dtypes.float8_e4m3fn)
    tensors = {"up.weight_packed": codes, "up.weight_scale": scales, f"up.{name}": value}
    with pytest.raises(NetcalcError, match=reason):
        decoded(tensors, said("nvfp4-pack-quantized", num_bits=4, type="float", group_size=16))


def test_a_module_has_the_fields_of_the_targets_that_name_it() -> None:
    groups = {
        "group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "strategy": "block", "block_structure": [8, 48]}},
        "group_1": {"targets": ["re:.*up"], "weights": {"num_bits": 8, "strategy": "group", "group_size": 6}},
        "group_2": {"targets": ["down"], "weights": {"num_bits": 8, "strategy": "channel"}},
    }
    config = {"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": groups}
    ones, scales = np.ones((ROWS, COLUMNS), np.int8), np.arange(16, dtype=np.float16)
    by_groups = decoded({"up.weight": ones, "up.weight_scale": np.tile(scales, (16, 1))}, config)
    np.testing.assert_array_equal(by_groups, np.tile(scales.repeat(6), (16, 1)))
    by_row = decoded({"down.weight": ones, "down.weight_scale": scales[:, None]}, config, "down.weight")
    np.testing.assert_array_equal(by_row, np.tile(scales[:, None], 96))
    by_block = decoded({"gate.weight": ones, "gate.weight_scale": np.array([[1, 2], [3, 4]])}, config, "gate.weight")
    np.testing.assert_array_equal(by_block[[0, 0, 8, 8], [47, 48, 47, 48]], [1, 2, 3, 4])


@pytest.mark.parametrize("bits", [4, 8])
def test_a_model_runs_with_the_numbers_of_its_packed_weights(bits: int, tmp_path: Path) -> None:
    config = compressed("pack-quantized", num_bits=bits, type="int", strategy="group", group_size=32, symmetric=True)

    def pack(name: str, array: Array) -> dict[str, Array]:
        """Pack numbers near those of an array, and put them in its place."""
        rows, columns = array.shape
        half = 1 << (bits - 1)
        codes = np.rint(array * 8 * half).clip(-half, half - 1).astype(int)
        array[...] = codes / np.float32(8 * half)
        return {
            f"{name}.weight_packed": packed(codes, bits),
            f"{name}.weight_scale": np.full((rows, columns // 32), 1 / (8 * half), ml_dtypes.bfloat16),
            f"{name}.weight_shape": np.array([rows, columns]),
        }

    folder, plain = folder_of(tmp_path / "packed", config, pack)
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
