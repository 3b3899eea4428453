"""Floats in 4 bits, packed by hand as gpt-oss, DeepSeek-V4 and NVIDIA ModelOpt 0.47.0 do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.floats import E2M1, E4M3, E8M0, drawn_scales, e4m3, e8m0, pairs
from tests.weights.decoders.harness import decoded

NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


def packed(codes: Array) -> Array:
    """Return codes in bytes along the last axis."""
    rows = [pairs(list(map(int, row))) for row in codes.reshape(-1, codes.shape[-1])]
    return np.array(rows, np.uint8).reshape(*codes.shape[:-1], -1)


def layer(shape: tuple[int, ...], group: int) -> tuple[Array, Array, Array]:
    """Return codes, bytes of scales, and the numbers of the codes."""
    generator = np.random.default_rng(group)
    codes = generator.integers(0, 16, shape)
    scales = drawn_scales(generator, (*shape[:-1], shape[-1] // group))
    return codes, scales, np.array([E2M1[code] for code in codes.reshape(-1)], np.float32).reshape(shape)


def test_experts_of_gpt_oss_are_transposed() -> None:
    """Section ``_convert_moe_packed_tensors`` of transformers 5.23.0, integrations/mxfp4.py."""
    codes, exponents, elements = layer((2, 3, 64), 32)
    numbers = np.empty((2, 64, 3), np.float32)
    for expert, row, column in np.ndindex(2, 3, 64):
        scale = e8m0(int(exponents[expert, row, column // 32]))
        numbers[expert, column, row] = elements[expert, row, column] * scale
    tensors = {"gate_up_proj_blocks": packed(codes).reshape(2, 3, 2, 16), "gate_up_proj_scales": exponents}
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "mxfp4"}, "gate_up_proj"), numbers)


@pytest.mark.parametrize("weights", [np.int8, np.uint8])
@pytest.mark.parametrize("scales", [np.uint8, E8M0, np.float32])
def test_experts_of_fp8_models(weights: Any, scales: Any) -> None:
    codes, exponents, elements = layer((3, 64), 32)
    numbers = np.empty((3, 64), np.float32)
    for row, column in np.ndindex(3, 64):
        numbers[row, column] = elements[row, column] * e8m0(int(exponents[row, column // 32]))
    powers = np.array([e8m0(int(code)) for code in exponents.reshape(-1)], np.float32).reshape(exponents.shape)
    stored = powers if scales is np.float32 else exponents.view(scales)
    tensors = {"up.weight": packed(codes).view(weights), "up.scale": stored}
    said = {"quant_method": "fp8", "weight_block_size": [128, 128], "expert_dtype": "fp4"}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)
    if weights is np.uint8 and scales is np.uint8:
        tensors = {"up.weight": packed(codes), "up.weight_scale": stored}
        said = {"quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8"}
        np.testing.assert_array_equal(decoded(tensors, said), numbers)


def nvfp4(shape: tuple[int, ...], outer: Array) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer, and number·(scale·scale of the tensor) by a loop."""
    codes, scales, elements = layer(shape, 16)
    numbers = np.empty(shape, np.float32)
    for place in np.ndindex(*shape):
        factor = outer.reshape(-1)[place[0] if outer.size > 1 else 0]
        scale = np.float32(e4m3(int(scales[(*place[:-1], place[-1] // 16)]))) * factor
        numbers[place] = elements[place] * scale
    return {"weight": packed(codes), "weight_scale": scales.view(E4M3), "weight_scale_2": outer}, numbers


@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 64), ()), ((3, 64), (1,)), ((2, 3, 64), ()), ((2, 3, 64), (2,)), ((2, 3, 64), (2, 1, 1))]
)
def test_modelopt(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    tensors, numbers = nvfp4(shape, np.random.default_rng(1).random(axes, np.float32) + np.float32(0.1))
    stored = {f"up.{name}": array for name, array in tensors.items()} | {"up.input_scale": np.float32(2)}
    np.testing.assert_array_equal(decoded(stored, NVFP4), numbers)


def test_factors_of_the_inputs_are_part_of_the_numbers() -> None:
    tensors, numbers = nvfp4((3, 64), np.array([0.5], np.float32))
    factors = np.random.default_rng(2).random(64).astype(np.float32)
    stored = {f"up.{name}": array for name, array in tensors.items()} | {"up.pre_quant_scale": factors}
    inputs = np.random.default_rng(3).random(64)
    outputs = np.array([sum(x * f * w for x, f, w in zip(inputs, factors, row, strict=True)) for row in numbers])
    np.testing.assert_allclose(decoded(stored, NVFP4) @ inputs, outputs, rtol=1e-6)


def test_mixed_precision_has_both_types() -> None:
    tensors, numbers = nvfp4((3, 64), np.array([0.5], np.float32))
    stored = {f"up.{name}": array for name, array in tensors.items()}
    stored |= {"down.weight": np.full((2, 4), 2, E4M3), "down.weight_scale": np.float32(0.25)}
    layers = {"up": {"quant_algo": "NVFP4", "group_size": 16}, "down": {"quant_algo": "FP8"}}
    said = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    np.testing.assert_array_equal(decoded(stored, said), numbers)
    np.testing.assert_array_equal(decoded(stored, said, "down.weight"), np.full((2, 4), 0.5, np.float32))


def test_experts_of_modelopt_are_packed_along_their_inputs() -> None:
    tensors, numbers = nvfp4((2, 3, 64), np.array([0.5, 3], np.float32))
    stored = {
        "up": np.ascontiguousarray(tensors["weight"].swapaxes(1, 2)),
        "up_weight_scale": np.ascontiguousarray(tensors["weight_scale"].swapaxes(1, 2)),
        "up_weight_scale_2": tensors["weight_scale_2"],
    }
    np.testing.assert_array_equal(decoded(stored, NVFP4, "up"), numbers.swapaxes(1, 2))


def test_scales_that_fit_nothing_are_errors() -> None:
    tensors, _ = nvfp4((3, 64), np.array([1], np.float32))
    stored = {f"up.{name}": array for name, array in tensors.items()}
    with pytest.raises(NetcalcError, match=r"weight_scale_2 has 3 elements for scales of shape \(3, 4\)"):
        decoded(stored | {"up.weight_scale_2": np.ones(3, np.float32)}, NVFP4)
    with pytest.raises(NetcalcError, match=r"\.pre_quant_scale has 63 elements for 64 columns"):
        decoded(stored | {"up.pre_quant_scale": np.ones(63, np.float32)}, NVFP4)
