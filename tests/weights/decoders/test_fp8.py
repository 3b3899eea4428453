"""Floats in 8 bits, packed by hand as transformers 5.23.0 does (integrations/finegrained_fp8.py, fbgemm_fp8.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.packing.unpacked import unpacked
from netcalc.weights.writing import write_tensors
from tests.weights.decoders.floats import E4M3, E8M0, drawn_e4m3, e4m3, e8m0
from tests.weights.decoders.harness import decoded, folder_of, outputs

FP8: dict[str, Any] = {"quant_method": "fp8", "activation_scheme": "dynamic"}


def layer(shape: tuple[int, ...], grid: tuple[int, ...], tile: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Return codes, scales of tiles, and number·scale by a loop."""
    generator = np.random.default_rng(len(shape))
    codes, scales = drawn_e4m3(generator, shape), generator.random(grid).astype(np.float32)
    numbers = np.empty(shape, np.float32)
    for place in np.ndindex(*shape):
        *lead, row, column = place
        at = (*lead, row // tile[0], column // tile[1])
        numbers[place] = np.float32(e4m3(int(codes[place]))) * scales[at]
    return codes.view(E4M3), scales, numbers


@pytest.mark.parametrize("suffix", ["weight_scale_inv", "weight_scale", "scale"])
@pytest.mark.parametrize(
    ("shape", "grid", "tile", "said"),
    [
        ((6, 8), (3, 2), (2, 4), [2, 4]),
        ((5, 10), (3, 3), (2, 4), [2, 4]),  # the last tiles are smaller
        ((6, 8), (2, 8), (3, 1), None),  # tiles of equal size
        ((2, 6, 8), (2, 3, 2), (2, 4), [2, 4]),
    ],
    ids=str,
)
def test_tiles(
    suffix: str, shape: tuple[int, ...], grid: tuple[int, ...], tile: tuple[int, int], said: list[int] | None
) -> None:
    codes, scales, numbers = layer(shape, grid, tile)
    tensors = {"up.weight": codes, f"up.{suffix}": scales, "up.input_scale": np.ones(1, np.float32)}
    np.testing.assert_array_equal(decoded(tensors, {**FP8, "weight_block_size": said}), numbers)


@pytest.mark.parametrize("method", ["fp8", "modelopt"])
@pytest.mark.parametrize("scale", [np.float32(0.75), np.array([0.75], np.float32)], ids=["scalar", "one"])
def test_a_scale_of_a_tensor(method: str, scale: Any) -> None:
    codes, _, numbers = layer((6, 8), (1, 1), (6, 8))
    numbers = np.array([e4m3(int(code)) * 0.75 for code in codes.view(np.uint8).reshape(-1)], np.float32).reshape(6, 8)
    said = {"quant_method": method, **({"quant_algo": "FP8"} if method == "modelopt" else {})}
    np.testing.assert_array_equal(decoded({"up.weight": codes, "up.weight_scale": scale}, said), numbers)


@pytest.mark.parametrize("stored", [E8M0, np.uint8])
@pytest.mark.parametrize("shape", [(4, 64), (3, 4, 64)])
def test_powers_of_two_for_32_columns(stored: Any, shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    codes = drawn_e4m3(generator, shape)
    exponents = generator.integers(100, 140, (*shape[:-1], 2)).astype(np.uint8)
    numbers = np.empty(shape, np.float32)
    for place in np.ndindex(*shape):
        numbers[place] = e4m3(int(codes[place])) * e8m0(int(exponents[(*place[:-1], place[-1] // 32)]))
    said = {"quant_method": "mxfp8", "weight_block_size": [1, 32]}
    tensors = {"up.weight": codes.view(E4M3), "up.weight_scale_inv": exponents.view(stored)}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)
    tensors = {"up.weight": codes.view(E4M3), "up.weight_scale": exponents.view(stored)}
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "modelopt", "quant_algo": "MXFP8"}), numbers)
    if len(shape) == 3:
        tensors = {"up": codes.view(E4M3), "up_scale_inv": exponents.view(stored)}
        np.testing.assert_array_equal(decoded(tensors, said, "up"), numbers)


def test_scales_of_powers_of_two_are_read_from_a_file(tmp_path: Path) -> None:
    """Element types of the file are F8_E4M3 and F8_E8M0, as DeepSeek-V4 has them."""
    codes, exponents = np.full((2, 4), 0b0_0111_100, np.uint8), np.array([[126, 130]], np.uint8)
    file = tmp_path / "model.safetensors"
    write_tensors(file, {"up.weight": codes.view(E4M3), "up.scale": exponents.view(E8M0)})
    assert b'"F8_E8M0"' in file.read_bytes()
    numbers = unpacked(open_weights(file), None).load("up.weight")
    np.testing.assert_array_equal(numbers, np.float32([[0.75, 0.75, 12, 12]] * 2))


def test_experts() -> None:
    codes, scales, numbers = layer((3, 6, 8), (3, 3, 2), (2, 4))
    tensors = {"experts.gate_up_proj": codes, "experts.gate_up_proj_scale_inv": scales}
    np.testing.assert_array_equal(
        decoded(tensors, {**FP8, "weight_block_size": [2, 4]}, "experts.gate_up_proj"), numbers
    )


def test_experts_of_modelopt_have_one_scale() -> None:
    codes, scales, numbers = layer((3, 6, 8), (3, 1, 1), (6, 8))
    scales[...] = 0.5
    numbers = np.array([e4m3(int(code)) / 2 for code in codes.view(np.uint8).reshape(-1)], np.float32)
    tensors = {"up": codes, "up_weight_scale": np.float32(0.5), "up_input_scale": np.float32(1)}
    said = {"quant_method": "modelopt", "quant_algo": "FP8"}
    np.testing.assert_array_equal(decoded(tensors, said, "up"), numbers.reshape(3, 6, 8))


@pytest.mark.parametrize(
    ("algorithm", "shape", "grid", "tile"),
    [
        ("FP8_PER_CHANNEL_PER_TOKEN", (6, 8), (6, 1), (1, 8)),
        ("FP8_PB_WO", (130, 200), (2, 2), (128, 128)),
    ],
)
def test_rows_and_tiles_of_modelopt(
    algorithm: str, shape: tuple[int, ...], grid: tuple[int, ...], tile: tuple[int, int]
) -> None:
    codes, scales, numbers = layer(shape, grid, tile)
    stored = scales.reshape(-1) if grid[1] == 1 else scales
    said = {"quant_method": "modelopt", "quant_algo": algorithm}
    np.testing.assert_array_equal(decoded({"up.weight": codes, "up.weight_scale": stored}, said), numbers)


@pytest.mark.parametrize("axes", [(6, 1), (6,)])
def test_rows_of_fbgemm(axes: tuple[int, ...]) -> None:
    codes, scales, numbers = layer((6, 8), (6, 1), (1, 8))
    tensors = {"up.weight": codes, "up.weight_scale": scales.reshape(axes)}
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "fbgemm_fp8"}), numbers)


@pytest.mark.parametrize("axes", [(3, 1, 8), (3, 8, 1)], ids=["gate_up_proj", "down_proj"])
def test_experts_of_llama_4(axes: tuple[int, ...]) -> None:
    codes, scales, numbers = layer((3, 6, 8), (3, 1, 8), (6, 1))
    tensors = {"up": codes, "up_scale": scales.reshape(axes)}
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "fbgemm_fp8"}, "up"), numbers)


def test_scales_that_fit_nothing_are_errors() -> None:
    codes, scales, _ = layer((6, 8), (3, 2), (2, 4))
    with pytest.raises(NetcalcError, match=r"E605.*one of .weight_scale_inv, .weight_scale, .scale .* there is none"):
        decoded({"up.weight": codes}, FP8)
    with pytest.raises(NetcalcError, match=r"there is \.weight_scale_inv and \.scale"):
        decoded({"up.weight": codes, "up.weight_scale_inv": scales, "up.scale": scales}, FP8)
    with pytest.raises(NetcalcError, match="4 scales do not divide 6 rows"):
        decoded({"up.weight": codes, "up.scale": np.ones((4, 2), np.float32)}, FP8)
    with pytest.raises(NetcalcError, match=r"_scale has the shape \(3, 1, 7\), and 3 experts have 8 rows each"):
        experts = {"up": layer((3, 6, 8), (3, 1, 1), (6, 8))[0], "up_scale": np.ones((3, 1, 7), np.float32)}
        decoded(experts, {"quant_method": "fbgemm_fp8"}, "up")


def test_a_model_runs_with_the_numbers_of_its_packed_weights(tmp_path: Path) -> None:
    said = {"quantization_config": {**FP8, "weight_block_size": [48, 40]}}

    def pack(name: str, array: Array) -> dict[str, Array]:
        """Pack numbers of which e4m3 and powers of two lose nothing, in tiles that do not divide all sizes."""
        rows, columns = array.shape
        codes, scale = (array * 64).astype(E4M3), np.float32(1 / 64)
        array[...] = codes.astype(np.float32) * scale
        grid = (-(-rows // 48), -(-columns // 40))
        return {f"{name}.weight": codes, f"{name}.weight_scale_inv": np.full(grid, scale)}

    folder, plain = folder_of(tmp_path / "packed", said, pack)
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
