"""Encoders and decoders of stored parameters, against the library gguf, published layouts and bounds of the error."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize, quantize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from netcalc.codecs import codec_named
from netcalc.codecs.microscaling import e2m1_cast, e2m1_values
from netcalc.codecs.planes import pack_words, unpack_words
from netcalc.codecs.tables import dynamic_table, table
from netcalc.diagnostics import NetcalcError
from netcalc.schemes.scheme import scheme_names
from tests.schemes.test_descriptions import WITHOUT_CODEC

SHAPE = (2, 8, 512)
VALUES = (np.random.default_rng(0).standard_normal(SHAPE) * 0.02).astype(np.float32)
VALUES[0, 0, :256] = 0

SIMPLE = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0"]
BLOCKS = [*SIMPLE, "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"]
#: Relative RMS error of normally distributed numbers: q4_0 … q8_0 as of the library, the others below what a uniform
#: step over the range of a group, or the spacing of the element type, allows.
ERRORS = {
    "float16": 3e-4,
    "bfloat16": 2.3e-3,
    "float8_e4m3": 0.03,
    "float8_e5m2": 0.06,
    "float8_e4m3-b128": 0.03,
    "int8": 0.009,
    "int8-tensor": 0.011,
    "int4-g128": 0.13,
    "int8-g128": 0.008,
    "int3-g32": 0.24,
    "int4-channel": 0.18,
    "int4-g128-zp": 0.12,
    "mlx-int4-g64": 0.11,
    "mlx-int3-g64": 0.25,
    "int8-g64-zp": 0.007,
    "gptq-int4-g128": 0.12,
    "gptq-int3-g128": 0.24,
    "awq-int4-g128": 0.12,
    "nf4": 0.1,
    "fp4": 0.13,
    "nf4-dq": 0.1,
    "mxfp4": 0.13,
    "mxfp8": 0.03,
    "nvfp4": 0.1,
    "q2_k": 0.36,
    "q3_k": 0.17,
    "q4_k": 0.085,
    "q5_k": 0.042,
    "q6_k": 0.021,
    "iq4_nl": 0.085,
    "iq4_xs": 0.085,
}
#: Schemes whose scales are rounded such that a second rounding may move numbers again.
NOT_EXACT = {"int8-g64-zp", "nf4-dq", "mlx-int4-g64", "mlx-int3-g64"}


def rounded(scheme: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    codec = codec_named(scheme)
    return np.asarray(codec.decode(codec.encode(values), values.shape), np.float32)


@pytest.mark.parametrize("scheme", BLOCKS)
def test_the_library_reads_blocks(scheme: str) -> None:
    kind = GGMLQuantizationType[scheme.upper()]
    blocks = codec_named(scheme).encode(VALUES)["blocks"]
    size, length = GGML_QUANT_SIZES[kind]
    assert blocks.nbytes == VALUES.size // size * length
    np.testing.assert_array_equal(rounded(scheme, VALUES), dequantize(blocks, kind).reshape(SHAPE))


@pytest.mark.parametrize("scheme", SIMPLE)
def test_blocks_are_those_of_the_library(scheme: str) -> None:
    for scale in (1e-6, 1, 1e3):
        values = VALUES * np.float32(scale)
        expected = quantize(values, GGMLQuantizationType[scheme.upper()])
        np.testing.assert_array_equal(codec_named(scheme).encode(values)["blocks"], expected)


@pytest.mark.parametrize("scheme", BLOCKS)
def test_random_blocks_are_decoded_as_by_the_library(scheme: str) -> None:
    kind = GGMLQuantizationType[scheme.upper()]
    size, length = GGML_QUANT_SIZES[kind]
    blocks = np.random.default_rng(1).integers(0, 256, (1, 40, length), np.uint8)
    found = codec_named(scheme).decode({"blocks": blocks}, (1, 40, size))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, dequantize(blocks, kind).reshape(found.shape))


def test_mxfp4_has_the_values_of_the_library() -> None:
    blocks = quantize(VALUES, GGMLQuantizationType.MXFP4)
    np.testing.assert_array_equal(rounded("mxfp4", VALUES), dequantize(blocks, GGMLQuantizationType.MXFP4))


@pytest.mark.parametrize("scheme", ERRORS)
def test_errors_are_within_bounds(scheme: str) -> None:
    found = rounded(scheme, VALUES)
    error = np.sqrt(np.mean((found - VALUES) ** 2) / np.mean(VALUES**2))
    assert 0 < error < ERRORS[scheme]
    assert not found[0, 0, :256].any()


@pytest.mark.parametrize("scheme", sorted({*ERRORS, *BLOCKS} - NOT_EXACT))
def test_rounding_twice_changes_nothing(scheme: str) -> None:
    once = rounded(scheme, VALUES)
    np.testing.assert_allclose(rounded(scheme, once), once, rtol=3e-7, atol=0)


@settings(max_examples=25, deadline=None)
@given(
    arrays(np.float32, (1, 2, 256), elements=st.floats(-4, 4, width=16)),
    st.sampled_from(
        ["int8", "int4-g128", "int3-g32", "nf4", "fp4", "mxfp4", "mxfp8", "q4_0", "q5_0", "q8_0", "iq4_nl"]
    ),
)
def test_rounding_twice_changes_nothing_of_any_numbers(values: np.ndarray[Any, Any], scheme: str) -> None:
    once = rounded(scheme, values)
    np.testing.assert_allclose(rounded(scheme, once), once, rtol=3e-7, atol=1e-12)
    assert np.abs(once).max() <= np.abs(values).max() * (4 / 3) + 1e-6  # 6 is followed by 8 in e2m1


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), st.integers(1, 70), st.randoms(use_true_random=False))
def test_words_hold_codes_without_gaps(bits: int, count: int, random: Any) -> None:
    codes = np.array([[random.randrange(1 << bits) for _ in range(count)]], np.uint8)
    words = pack_words(codes, bits)
    number = int.from_bytes(words.tobytes(), "little")
    assert [(number >> bits * place) & ((1 << bits) - 1) for place in range(count)] == codes[0].tolist()
    assert words.shape == (1, -(-count * bits // 32))
    np.testing.assert_array_equal(unpack_words(words, bits, count), codes)


def test_gptq_packs_columns_and_zero_points_less_one() -> None:
    values = np.array([[[-8, -4, 0, 1, 2, 3, 5, 7]]] * 8, np.float32).reshape(1, 8, 8)  # scale 1, zero point 8
    tensors = codec_named("gptq-int4-g8").encode(values)
    codes = [0, 4, 8, 9, 10, 11, 13, 15]
    word = struct.unpack("<i", struct.pack("<I", sum(code << 4 * place for place, code in enumerate(codes))))[0]
    assert tensors["values"].tolist() == [[[word] * 8]]
    assert tensors["zero points"].tolist() == [[[0x77777777]]]
    assert tensors["scales"].tolist() == [[[1.0] * 8]]
    assert tensors["groups of columns"].tolist() == [[0] * 8]


def test_awq_packs_rows_in_the_order_of_its_kernel() -> None:
    values = np.zeros((1, 8, 2), np.float32)
    values[0, :, 0] = np.arange(8)  # row r has r in the first column, and 15 in the second: scale 1, zero point 0
    values[0, :, 1] = 15
    tensors = codec_named("awq-int4-g2").encode(values)
    nibbles = [(int(tensors["values"][0, 0, 0]) >> 4 * place) & 15 for place in range(8)]
    assert nibbles == [0, 2, 4, 6, 1, 3, 5, 7]
    np.testing.assert_array_equal(rounded("awq-int4-g2", values), values)


def test_zero_points_of_groups_lie_along_the_rows() -> None:
    tensors = codec_named("int4-g128-zp").encode(VALUES[:1])
    assert (tensors["values"].shape, tensors["scales"].shape) == ((1, 8, 64), (1, 8, 4))
    assert tensors["zero points"].shape == (1, 1, 4)


def test_the_tables_of_bitsandbytes() -> None:
    """Values of bitsandbytes 0.50.2: backends/utils.py, and functional.create_dynamic_map."""
    fp4 = [0.0, 0.0052, 0.6667, 1.0, 0.3333, 0.5, 0.1667, 0.25]
    np.testing.assert_allclose(table("fp4"), [*fp4, *(-number for number in fp4)], atol=5e-5)
    assert (table("nf4")[[0, 7, 15]] == [-1, 0, 1]).all()
    scales = dynamic_table()
    assert (len(np.unique(scales)), scales[-1], scales[0]) == (256, 1, np.float32(-0.99296875))
    assert np.isclose(scales[scales > 0][0], 5.5e-7)


def test_bitsandbytes_puts_the_first_code_into_the_high_bits() -> None:
    values = np.zeros((1, 1, 64), np.float32)
    values[0, 0, :4] = [1, -1, 0, 0.5626170039176941]
    assert codec_named("nf4").encode(values)["values"][:3].tolist() == [0xF0, 0x7D, 0x77]
    assert codec_named("nf4").encode(np.ones((1, 1, 65), np.float32))["values"].tolist() == [0xFF] * 32 + [0xF7]


def test_double_quantization_stores_a_byte_for_each_block() -> None:
    values = np.random.default_rng(3).standard_normal((1, 64, 512)).astype(np.float32)
    tensors = codec_named("nf4-dq").encode(values)
    assert (tensors["scales"].dtype, tensors["scales"].size) == (np.uint8, 512)
    assert tensors["scales of scales"].size == 2
    bits = 8 * sum(tensors[role].nbytes for role in ("scales", "scales of scales")) / values.size
    assert round(bits, 3) == 0.127  # Dettmers et al. 2023, arXiv:2305.14314, section 3


def test_four_bit_floats_are_those_of_ml_dtypes() -> None:
    values = np.linspace(-7, 7, 2241, dtype=np.float32)
    expected = values.clip(-6, 6).astype(ml_dtypes.float4_e2m1fn)
    np.testing.assert_array_equal(e2m1_values(e2m1_cast(values)), expected.astype(np.float32))
    np.testing.assert_array_equal(e2m1_cast(values), expected.view(np.uint8))


def test_the_scales_of_nvfp4_use_the_range_of_their_type() -> None:
    tensors = codec_named("nvfp4").encode(VALUES)
    assert tensors["scales"].astype(np.float32).max() == 448
    assert np.isclose(tensors["scale of the tensor"][0], np.abs(VALUES).max() / (6 * 448))


def test_tiles_at_the_border_have_scales_of_their_own() -> None:
    values = np.ones((1, 3, 5), np.float32)
    values[0, 2, 4] = 64
    tensors = codec_named("float8_e4m3-b2").encode(values)
    assert tensors["scales"].shape == (1, 2, 3)
    assert tensors["scales"][0, 1, 2] == 64 / 448
    np.testing.assert_allclose(rounded("float8_e4m3-b2", values), values, rtol=1e-6)


def test_groups_of_mlx_have_their_extreme_element_and_zero() -> None:
    values = np.random.default_rng(5).standard_normal((1, 4, 64)).astype(ml_dtypes.bfloat16).astype(np.float32)
    values[..., 3] = 0
    found = rounded("mlx-int8-g64", values)
    place = np.abs(values).argmax(axis=-1, keepdims=True)
    np.testing.assert_array_equal(np.take_along_axis(found, place, -1), np.take_along_axis(values, place, -1))
    assert np.abs(found[..., 3]).max() < 0.02


def test_every_scheme_but_codebooks_has_a_codec() -> None:
    refused = set()
    for scheme in scheme_names():
        try:
            codec_named(scheme)
        except NetcalcError:
            refused.add(scheme)
    assert refused == set(filter(WITHOUT_CODEC.fullmatch, scheme_names()))


def test_codebooks_are_refused() -> None:
    with pytest.raises(NetcalcError, match="netcalc does not round to iq2_s"):
        codec_named("iq2_s")
