"""Numbers of AutoRound, packed by hand as version 0.16.1 does (auto_round_extension/torch, export_to_autoround)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.floats import E2M1, E4M3, drawn_e4m3, drawn_scales, e4m3, e8m0, pairs
from tests.weights.decoders.harness import decoded, folder_of, outputs, words_of
from tests.weights.decoders.test_awq import drawn_layer
from tests.weights.decoders.test_gptq import packed_in_eight_bits

ROWS, COLUMNS = 32, 64


def said(packing_format: str, **fields: Any) -> dict[str, Any]:
    return {"quant_method": "auto-round", "bits": 4, "group_size": 32, "packing_format": packing_format, **fields}


def integers(bits: int, group_size: int, offset: int, order: list[int] | None = None) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer with drawn codes, and (code − zero)·scale by a loop."""
    generator = np.random.default_rng(bits)
    groups = COLUMNS // group_size
    codes = generator.integers(0, 1 << bits, (ROWS, COLUMNS))
    zeros = generator.integers(0, 1 << bits, (groups, ROWS)) + offset  # what is stored, and the offset
    scales = generator.random((groups, ROWS)).astype(np.float16)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row in range(ROWS):
        for column in range(COLUMNS):
            group = column // group_size if order is None else order[column]
            numbers[row, column] = (int(codes[row, column]) - int(zeros[group, row])) * float(scales[group, row])
    return {
        "up.qweight": np.array([words_of(row, bits) for row in codes], np.int32).T,
        "up.qzeros": np.array([words_of(row - offset, bits) for row in zeros], np.int32),
        "up.scales": scales,
    }, numbers


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("group_size", [16, 32, -1])
@pytest.mark.parametrize(
    ("packing_format", "offset"),
    [
        ("auto_round", 0),
        ("auto_round:gptqmodel", 0),
        ("auto_round:exllamav2", 0),
        ("auto_round:auto_gptq", 1),
        ("auto_round:gptq", 1),
    ],
)
def test_integers(bits: int, group_size: int, packing_format: str, offset: int) -> None:
    tensors, numbers = integers(bits, COLUMNS if group_size < 0 else group_size, offset)
    found = decoded(tensors, said(packing_format, bits=bits, group_size=group_size))
    np.testing.assert_array_equal(found, numbers)


def test_groups_of_columns() -> None:
    order = np.arange(COLUMNS, dtype=np.int32) // 32
    np.random.default_rng(0).shuffle(order)
    tensors, numbers = integers(4, 32, 0, order.tolist())
    found = decoded({**tensors, "up.g_idx": order}, said("auto_round:gptqmodel"))
    np.testing.assert_array_equal(found, numbers)
    order[5] = 2
    with pytest.raises(NetcalcError, match="g_idx names groups beyond the 2"):
        decoded({**tensors, "up.g_idx": order}, said("auto_round:gptqmodel"))


@pytest.mark.parametrize("packing_format", ["auto_round:auto_awq", "auto_round:awq"])
@pytest.mark.parametrize("bits", [4, 5, 6, 7])
def test_integers_in_the_order_of_awq(packing_format: str, bits: int) -> None:
    tensors, numbers = drawn_layer(2, bits)
    np.testing.assert_array_equal(decoded(tensors, said(packing_format, bits=bits)), numbers)


def test_modules_have_fields_of_their_own() -> None:
    tensors, numbers = integers(8, 16, 1)
    config = said("auto_round:auto_gptq", extra_config={"up": {"bits": 8, "group_size": 16}})
    np.testing.assert_array_equal(decoded(tensors, config), numbers)


def codes_of_four_bits(numbers: tuple[float, ...]) -> tuple[Array, Array]:
    """Return drawn codes in bytes, and their numbers."""
    codes = np.random.default_rng(4).integers(0, 16, (ROWS, COLUMNS))
    packed = np.array([pairs([int(code) for code in row]) for row in codes], np.uint8)
    return packed, np.array([[numbers[code] for code in row] for row in codes], np.float32)


@pytest.mark.parametrize(
    ("data_type", "values"),
    [("mx_fp", E2M1), ("mx_int", (*(n / 4 for n in range(8)), *(-n / 4 for n in range(8))))],
)
def test_four_bits_with_exponents(data_type: str, values: tuple[float, ...]) -> None:
    packed, numbers = codes_of_four_bits(values)
    scales = np.random.default_rng(5).integers(100, 150, (ROWS, COLUMNS // 32)).astype(np.uint8)
    for row, column in np.ndindex(ROWS, COLUMNS):
        numbers[row, column] *= e8m0(int(scales[row, column // 32]))
    tensors = {"up.weight_packed": packed, "up.weight_scale": scales}
    np.testing.assert_array_equal(decoded(tensors, said("auto_round:llm_compressor", data_type=data_type)), numbers)


def test_nvfp4() -> None:
    packed, numbers = codes_of_four_bits(E2M1)
    codes = drawn_scales(np.random.default_rng(6), (ROWS, COLUMNS // 16))
    outer = np.float32(321.5)
    for row, column in np.ndindex(ROWS, COLUMNS):
        numbers[row, column] = (
            numbers[row, column] * (np.float32(1) / outer) * np.float32(e4m3(int(codes[row, column // 16])))
        )
    tensors = {"up.weight_packed": packed, "up.weight_scale": codes.view(E4M3)}
    tensors["up.weight_global_scale"] = np.array([outer])
    config = said("auto_round:llm_compressor", data_type="nv_fp", group_size=16)
    np.testing.assert_array_equal(decoded(tensors, config), numbers)
    tensors["up.weight_global_scale"] = np.zeros(1, np.float32)
    with pytest.raises(NetcalcError, match=r"its weight_global_scale is \[0.0\]"):
        decoded(tensors, config)


def test_nvfp4_with_scales_of_5_and_3_bits() -> None:
    """Numbers of e5m3 have no sign, and all exponents are those of numbers (auto_round/data_type/nvfp.py)."""
    packed, numbers = codes_of_four_bits(E2M1)
    codes = np.arange(128, dtype=np.uint8).reshape(ROWS, COLUMNS // 16) * 2 - (np.arange(4, dtype=np.uint8) == 3)
    for row, column in np.ndindex(ROWS, COLUMNS):
        exponent, mantissa = divmod(int(codes[row, column // 16]), 8)
        scale = mantissa / 8 * 2.0**-14 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 15)
        numbers[row, column] *= np.float32(scale)
    tensors = {"up.weight_packed": packed, "up.weight_scale": codes}
    config = said("auto_round:llm_compressor_nvfp4_e5m3", data_type="nvfp4_v2", group_size=16)
    np.testing.assert_array_equal(decoded(tensors, config), numbers)
    codes[0, 0] = 255
    assert np.isnan(decoded(tensors, config)[0, 0])
    tensors["up.weight_scale"] = codes.astype(np.float16)
    with pytest.raises(NetcalcError, match="its weight_scale is float16, and should be uint8"):
        decoded(tensors, config)


def test_mxfp8() -> None:
    generator = np.random.default_rng(7)
    codes = drawn_e4m3(generator, (ROWS, COLUMNS))
    scales = generator.integers(100, 150, (ROWS, COLUMNS // 32)).astype(np.uint8)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in np.ndindex(ROWS, COLUMNS):
        numbers[row, column] = e4m3(int(codes[row, column])) * e8m0(int(scales[row, column // 32]))
    tensors = {"up.weight": codes.view(E4M3), "up.weight_scale": scales}
    found = decoded(tensors, said("auto_round:llm_compressor", data_type="mx_fp", bits=8))
    np.testing.assert_array_equal(found, numbers)


@pytest.mark.parametrize(("shape", "group_size"), [((ROWS,), -1), ((ROWS, 1), -1), ((1,), 0)])
def test_static_fp8(shape: tuple[int, ...], group_size: int) -> None:
    generator = np.random.default_rng(8)
    codes = drawn_e4m3(generator, (ROWS, COLUMNS))
    scales = generator.random(shape).astype(ml_dtypes.bfloat16)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in np.ndindex(ROWS, COLUMNS):
        scale = np.float32(scales.reshape(-1)[row if len(scales) > 1 else 0])
        numbers[row, column] = np.float32(e4m3(int(codes[row, column]))) * scale
    tensors = {"up.weight": codes.view(E4M3), "up.weight_scale": scales, "up.input_scale": np.ones(1, np.float32)}
    config = said("auto_round:fp8_static", data_type="fp", bits=8, group_size=group_size)
    np.testing.assert_array_equal(decoded(tensors, config), numbers)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("weight_zp", np.zeros(ROWS, np.float32), "zero points of floats are not known"),
        ("weight_scale", np.ones(3, np.float32), "32 rows have 3 scales"),
    ],
)
def test_companions_that_static_fp8_does_not_have(name: str, value: Array, reason: str) -> None:
    tensors = {"up.weight": np.ones((ROWS, COLUMNS), E4M3), "up.weight_scale": np.ones(ROWS, np.float32)}
    with pytest.raises(NetcalcError, match=reason):
        decoded({**tensors, f"up.{name}": value}, said("auto_round:fp8_static", data_type="fp", bits=8, group_size=-1))


@pytest.mark.parametrize("packing_format", ["auto_round", "auto_round:auto_gptq"])
def test_a_model_runs_with_the_numbers_of_its_packed_weights(packing_format: str, tmp_path: Path) -> None:
    pack = partial(packed_in_eight_bits, group=32, zero=127 if packing_format.endswith("gptq") else 128)
    folder, plain = folder_of(tmp_path / "packed", {"quantization_config": said(packing_format, bits=8)}, pack)
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
